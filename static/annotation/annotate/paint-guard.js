/* Drops keys and clicks from before the current item was painted: they were meant for the item before it, or for
   nothing. So nobody answers an item that they have not seen. */

export class PaintGuard {
  #root;
  #paintedAt = 0;
  #resets = 0;

  /* `root`: the element that shows the item. Its `data-shown` is the item's key once it is painted. */
  constructor(root) {
    this.#root = root;
    for (const type of ["pointerdown", "click"]) {
      root.closest("form").addEventListener(type, (event) => this.accepts(event) || ignore(event), { capture: true });
    }
  }

  /* Another item is on the screen now: `key`, or null if there is nothing to answer. */
  reset(key) {
    const reset = ++this.#resets;
    delete this.#root.dataset.shown;
    this.#paintedAt = key === null ? 0 : Infinity;
    if (key === null) return;
    /* A task queued in an animation frame runs after that frame is painted. */
    requestAnimationFrame(() =>
      setTimeout(() => {
        if (reset !== this.#resets) return;
        this.#paintedAt = performance.now();
        this.#root.dataset.shown = key;
      }),
    );
  }

  /* Whether the event came after the item was painted. An event can be handled late by a busy page, so its own
     time counts. */
  accepts(event) {
    return event.timeStamp >= this.#paintedAt;
  }
}

function ignore(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}
