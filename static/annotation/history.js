/* An undo history of immutable states. */

export class History {
  #past = [];
  #future = [];
  #key = null;

  constructor(present) {
    this.present = present;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  /* A change with the same `key` as the one before belongs to the same step, e.g. an arrow key held down. */
  commit(next, key = null) {
    if (key === null || key !== this.#key) this.#past.push(this.present);
    this.#key = key;
    this.#future = [];
    this.present = next;
  }

  /* End the current step. */
  close() {
    this.#key = null;
  }

  undo() {
    return this.#step(this.#past, this.#future);
  }

  redo() {
    return this.#step(this.#future, this.#past);
  }

  #step(from, to) {
    if (!from.length) return false;
    to.push(this.present);
    this.present = from.pop();
    this.#key = null;
    return true;
  }
}
