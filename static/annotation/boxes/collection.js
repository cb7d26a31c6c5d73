/* The boxes of one image with their undo history, and the options (attributes) that they belong to. `extra`, the
   state of the page around, is in the same history. */

import { History } from "../history.js";

export const copyBox = ({ id, option, x0, y0, x1, y1 }) => ({ id, option, x0, y0, x1, y1 });

export class Collection {
  history;
  #options = new Map();
  #lastNumber = 0;

  /* `options`: [{id, label, number}]. An option without a label is shown by its id. */
  constructor(boxes = [], options = [], extra = null) {
    this.history = new History({ boxes: boxes.map(copyBox), extra });
    for (const { id, label, number } of options) this.name(id, label, number);
    for (const { id, option } of boxes) {
      this.name(option);
      this.#lastNumber = Math.max(this.#lastNumber, Number(/^box-(\d+)$/.exec(id)?.[1] ?? 0));
    }
  }

  /* Options without a number are numbered in order of appearance. */
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
    return this.history.present.boxes;
  }

  get extra() {
    return this.history.present.extra;
  }

  copy() {
    return this.boxes.map(copyBox);
  }

  find(id) {
    return this.boxes.find((box) => box.id === id);
  }

  of(option) {
    return this.boxes.filter((box) => box.option === option);
  }

  /* The values for the message "box". */
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
    this.#lastNumber += 1;
    const box = copyBox({ id: `box-${this.#lastNumber}`, option, ...shape });
    this.#commit([...this.boxes, box]);
    return box;
  }

  /* Consecutive changes with the same `key` are one undo step. */
  replace(box, key = null) {
    this.#commit(
      this.boxes.map((each) => (each.id === box.id ? copyBox(box) : each)),
      { key },
    );
  }

  /* Remove boxes and set `extra` in one step. True if anything changed. */
  remove(ids, extra = this.extra) {
    const left = this.boxes.filter((box) => !ids.has(box.id));
    if (left.length === this.boxes.length && extra === this.extra) return false;
    this.#commit(left, { extra });
    return true;
  }

  #commit(boxes, { key = null, extra = this.extra } = {}) {
    this.history.commit({ boxes, extra }, key);
  }
}
