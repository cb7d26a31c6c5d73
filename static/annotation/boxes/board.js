/* The editor's state and all actions on it, whether by pointer, key, tool or page. Every change of the boxes ends
   in #changed, which paints once and notifies the page once. */

import { Collection } from "./collection.js";
import { between, sameShape } from "./geometry.js";
import { Painter } from "./paint.js";

export class Board {
  mode = "select";
  active = null; // the option that boxes are drawn for
  selected = null; // the id of a box
  cross = { x: 0, y: 0 }; // the keyboard's drawing position
  concealed = false;
  spaceHeld = false;
  collection = new Collection();
  #byKeyboard = false;
  draft = null; // {anchor, corner} of a box being drawn; points that may lie outside the image
  #preview = null; // a box that the pointer is moving or resizing
  #highlighted = null;
  #hovered = null;

  /* `callbacks`: {announce(name, values, more), describe(facts), changed(boxes, reason), hovered(option), updated()}.
     The text that `changed` returns is announced as well. */
  constructor(frame, callbacks) {
    this.frame = frame;
    this.callbacks = callbacks;
    this.painter = new Painter(frame.layer);
  }

  load({ boxes, options, extra, concealed = false }) {
    this.collection = new Collection(boxes, options, extra);
    const { width, height } = this.frame.size;
    Object.assign(this, { selected: null, active: null, mode: "select", concealed });
    this.cross = { x: Math.round(width / 2), y: Math.round(height / 2) };
    this.draft = this.#preview = this.#highlighted = null;
    this.paint();
  }

  /* ---- reading ---- */

  get boxes() {
    return this.collection.boxes;
  }

  selectedBox() {
    return this.collection.find(this.selected);
  }

  focusedBox() {
    return this.collection.find(document.activeElement?.closest?.("[data-box]")?.dataset.box);
  }

  facts(box) {
    return this.collection.facts(box, this.frame.size);
  }

  /* Boxes can only be edited on a visible image. */
  canWork() {
    if (this.concealed) this.announce("stillBlurred");
    else if (this.frame.failed) this.announce("failed");
    return !this.concealed && this.frame.loaded;
  }

  canDraw() {
    if (this.active === null) this.announce("noOption");
    return this.active !== null;
  }

  announce(name, values, more) {
    this.callbacks.announce(name, values, more);
  }

  /* ---- modes, selection ---- */

  setMode(mode) {
    this.draft = null;
    this.mode = mode;
    this.paint();
    if (mode === "draw" && this.canDraw()) this.announce("armed", { label: this.collection.label(this.active) });
    if (mode === "select") this.announce("selecting");
    if (mode === "pan") this.announce("panning");
  }

  setActive(option) {
    this.active = option;
    this.selected = null;
    this.setMode(option === null ? "select" : "draw");
  }

  select(id, { quiet = false } = {}) {
    const before = this.selected;
    this.selected = this.collection.find(id)?.id ?? null;
    this.paint();
    if (quiet || before === this.selected) return;
    const box = this.selectedBox();
    if (!box) return this.announce("deselected");
    this.frame.keepInView({ x: box.x0, y: box.y0 });
    this.announce("box", this.facts(box));
  }

  highlight(option) {
    this.#highlighted = option;
    this.paint();
  }

  hover(option) {
    if (option === this.#hovered) return;
    this.#hovered = option;
    this.callbacks.hovered(option);
  }

  /* Esc: cancel the current action, else the selection; false if there was neither. */
  cancel() {
    if (this.draft || this.#preview) {
      this.draft = this.#preview = null;
      this.paint();
      this.announce("cancelled");
      return true;
    }
    if (this.selected === null) return false;
    this.select(null);
    return true;
  }

  focus() {
    this.frame.view.focus({ preventScroll: true });
  }

  set byKeyboard(value) {
    if (value === this.#byKeyboard) return;
    this.#byKeyboard = value;
    this.paint();
  }

  /* ---- drawing ---- */

  beginDraft(anchor) {
    this.draft = { anchor, corner: anchor };
    this.paint();
  }

  sizeDraft(corner) {
    this.draft = { ...this.draft, corner };
    this.paint();
  }

  /* The first corner was set by a click or a key; wait for the second. */
  awaitCorner() {
    const { anchor } = this.draft;
    this.beginDraft(anchor);
    this.announce("corner", { x: Math.round(anchor.x), y: Math.round(anchor.y) });
  }

  /* `minimum`: the shortest side of a box, in image pixels; anything smaller is an accident. */
  finishDraft(minimum) {
    const { anchor, corner } = this.draft;
    const shape = between(anchor, corner, this.frame.size);
    this.draft = null;
    if (!shape || shape.x1 - shape.x0 < minimum || shape.y1 - shape.y0 < minimum) {
      this.paint();
      this.announce("tooSmall");
      return;
    }
    const box = this.collection.add(this.active, shape);
    this.selected = box.id;
    this.#changed("draw");
    this.announce("box", this.facts(box));
  }

  moveCross(point) {
    this.cross = point;
    if (this.draft) {
      this.sizeDraft(point);
      const { anchor } = this.draft;
      this.announce("sizing", {
        left: Math.min(anchor.x, point.x),
        top: Math.min(anchor.y, point.y),
        width: Math.abs(anchor.x - point.x),
        height: Math.abs(anchor.y - point.y),
      });
    } else {
      this.paint();
      const { width, height } = this.frame.size;
      this.announce("cross", { ...point, imageWidth: width, imageHeight: height });
    }
  }

  /* ---- changing ---- */

  preview(box) {
    this.#preview = box;
    this.paint();
  }

  commitPreview(reason) {
    const box = this.#preview;
    this.#preview = null;
    if (box) this.#reshape(box, reason);
    this.paint();
  }

  /* One press of an arrow key; `repeated` presses belong to the same undo step. */
  nudge(box, reason, repeated) {
    this.selected = box.id;
    if (!repeated) this.collection.history.close();
    this.#reshape(box, reason, `${reason} ${box.id}`);
  }

  assign(id, option) {
    const box = this.collection.find(id);
    if (!box || box.option === option) return;
    this.collection.replace({ ...box, option });
    this.#changed("assign");
    this.announce("assigned", { label: this.collection.label(option) });
  }

  /* Remove boxes; the page's `extra` state changes in the same undo step. */
  remove(ids, extra) {
    const removed = new Set(ids);
    const focused = this.focusedBox();
    if (!this.collection.remove(removed, extra)) return;
    if (focused && removed.has(focused.id)) this.focus();
    if (removed.has(this.selected)) this.selected = null;
    this.#changed("remove");
    if (removed.size) this.announce("removed", { count: this.boxes.length });
  }

  undo() {
    if (this.draft || this.#preview) this.cancel();
    else this.#undoOrRedo("undo", "undone", "nothingToUndo");
  }

  redo() {
    this.#undoOrRedo("redo", "redone", "nothingToRedo");
  }

  #undoOrRedo(direction, done, nothing) {
    if (!this.collection.history[direction]()) return this.announce(nothing);
    if (!this.selectedBox()) this.selected = null;
    this.announce(done, { count: this.boxes.length }, this.#changed(direction));
  }

  #reshape(box, reason, key) {
    if (!sameShape(this.collection.find(box.id), box)) {
      this.collection.replace(box, key);
      this.#changed(reason);
    }
    this.announce("box", this.facts(box));
  }

  #changed(reason) {
    this.paint();
    return this.callbacks.changed(this.collection.copy(), reason);
  }

  /* ---- painting ---- */

  paint() {
    const draft = this.draft && between(this.draft.anchor, this.draft.corner, this.frame.size);
    const begun = this.draft && !draft ? this.draft.anchor : null;
    this.painter.paint({
      boxes: this.boxes.map((box) => (box.id === this.#preview?.id ? this.#preview : box)),
      selected: this.selected,
      active: this.active,
      highlighted: this.#highlighted,
      mode: this.mode,
      scale: this.frame.scale,
      size: this.frame.size,
      margin: this.frame.margin,
      draft,
      cross: this.mode === "draw" && this.#byKeyboard ? this.cross : begun,
      numberOf: (option) => this.collection.number(option),
      describe: (box) => this.callbacks.describe(this.facts(box)),
    });
    this.callbacks.updated();
  }
}
