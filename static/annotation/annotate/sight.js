/* Whether what is on the screen has been seen. A key or a click that came before an item was painted was
   meant for the one before it, or for nothing: it is dropped, so that nobody answers what they have not
   seen. Whatever comes after the painting counts. */

export class Sight {
  #root;
  #since = 0;
  #changes = 0;

  /* `root`: where items are shown. While the one in it can be seen and answered, `data-shown` names it. */
  constructor(root) {
    this.#root = root;
    for (const sign of ["pointerdown", "click"]) {
      root.closest("form").addEventListener(sign, (event) => this.of(event) || ignore(event), { capture: true });
    }
  }

  /* From now on something else is on the screen: `key`, or null for what cannot be answered. */
  change(key) {
    const change = ++this.#changes;
    delete this.#root.dataset.shown;
    this.#since = key === null ? 0 : Infinity;
    if (key === null) return;
    /* A task that is queued in a frame runs once that frame was painted. */
    requestAnimationFrame(() =>
      setTimeout(() => {
        if (change !== this.#changes) return;
        this.#since = performance.now();
        this.#root.dataset.shown = key;
      }),
    );
  }

  /* Did this happen to what can be seen now? Keys that were pressed before it was painted and arrive after
     it have waited for a busy page: their time tells. */
  of(event) {
    return event.timeStamp >= this.#since;
  }
}

function ignore(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}
