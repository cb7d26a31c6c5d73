/* The boxes of one image with their history, and the options (attributes) that they belong to. What the page
   around keeps beside them, `noted`, has its place in the same history. */

import { History } from "../history.js";

export const own = ({ id, option, x0, y0, x1, y1 }) => ({ id, option, x0, y0, x1, y1 });

export class Collection {
  #history;
  #options = new Map();
  #made = 0;

  /* `options`: [{id, label, number}]; of an option that is not named, its id is shown. */
  constructor(boxes = [], options = [], noted = null) {
    this.#history = new History({ boxes: boxes.map(own), noted });
    for (const { id, label, number } of options) this.name(id, label, number);
    for (const { id, option } of boxes) {
      this.name(option);
      this.#made = Math.max(this.#made, Number(/^box-(\d+)$/.exec(id)?.[1] ?? 0));
    }
  }

  /* Numbers not given are given in the order of appearance. */
  name(option, label, number) {
    const known = this.#options.get(option);
    this.#options.set(option, {
      label: label ?? known?.label ?? String(option),
      number: number ?? known?.number ?? this.#options.size + 1,
    });
  }

  label(option) {
    return this.#options.get(option)?.label ?? String(option);
  }

  number(option) {
    return this.#options.get(option)?.number ?? 1;
  }

  get boxes() {
    return this.#history.present.boxes;
  }

  get noted() {
    return this.#history.present.noted;
  }

  get canUndo() {
    return this.#history.canUndo;
  }

  get canRedo() {
    return this.#history.canRedo;
  }

  copy() {
    return this.boxes.map(own);
  }

  find(id) {
    return this.boxes.find((box) => box.id === id);
  }

  of(option) {
    return this.boxes.filter((box) => box.option === option);
  }

  /* Words and numbers of a box, for the message "box". */
  facts(box, { width, height }) {
    return {
      n: this.of(box.option).findIndex((each) => each.id === box.id) + 1,
      label: this.label(box.option),
      left: box.x0,
      top: box.y0,
      width: box.x1 - box.x0,
      height: box.y1 - box.y0,
      imageWidth: width,
      imageHeight: height,
    };
  }

  add(option, shape) {
    this.#made += 1;
    const box = own({ id: `box-${this.#made}`, option, ...shape });
    this.#commit([...this.boxes, box]);
    return box;
  }

  /* Changes with the same `key`, one after the other, are one step of the history. */
  replace(box, key = null) {
    this.#commit(
      this.boxes.map((each) => (each.id === box.id ? own(box) : each)),
      { key },
    );
  }

  /* Ends a step that could have gone on. */
  close() {
    this.#history.close();
  }

  /* Removes boxes and notes something else in one step. True if there was anything to do. */
  remove(ids, noted = this.noted) {
    const left = this.boxes.filter((box) => !ids.has(box.id));
    if (left.length === this.boxes.length && noted === this.noted) return false;
    this.#commit(left, { noted });
    return true;
  }

  undo() {
    return this.#history.undo();
  }

  redo() {
    return this.#history.redo();
  }

  #commit(boxes, { key = null, noted = this.noted } = {}) {
    this.#history.commit({ boxes, noted }, key);
  }
}
