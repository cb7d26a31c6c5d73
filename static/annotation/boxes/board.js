/* The state of the editor and what can be done to it, by whichever door it came: pointer, key, tool or page.
   Every change of the boxes ends in #changed: one painting, one notice to the page. */

import { Collection } from "./collection.js";
import { between, sameShape } from "./geometry.js";
import { Painter } from "./paint.js";

export class Board {
  mode = "select";
  active = null; // the option that boxes are drawn for
  selected = null; // the id of a box
  cross = { x: 0, y: 0 }; // where the keyboard draws
  concealed = false;
  spaceHeld = false;
  collection = new Collection();
  #byKeyboard = false;
  #draft = null; // {anchor, corner} of a box being drawn; points that may lie outside the image
  #preview = null; // a box as it would become, while the pointer still holds it
  #lit = null;
  #hovered = null;

  /* `tell`: {say(name, values, more), describe(facts), changed(boxes, reason), hovered(option), updated()};
     what `changed` returns is said as well. */
  constructor(frame, tell) {
    this.frame = frame;
    this.tell = tell;
    this.painter = new Painter(frame.layer);
  }

  load({ boxes, options, noted, concealed = false }) {
    this.collection = new Collection(boxes, options, noted);
    const { width, height } = this.frame.size;
    Object.assign(this, { selected: null, active: null, mode: "select", concealed });
    this.cross = { x: Math.round(width / 2), y: Math.round(height / 2) };
    this.#draft = this.#preview = this.#lit = null;
    this.paint();
  }

  /* ---- looking ---- */

  get boxes() {
    return this.collection.boxes;
  }

  get draft() {
    return this.#draft;
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

  /* Nobody works on what they cannot see. */
  canWork() {
    if (this.concealed) this.say("stillBlurred");
    else if (this.frame.failed) this.say("failed");
    return !this.concealed && this.frame.loaded;
  }

  canDraw() {
    if (this.active === null) this.say("noOption");
    return this.active !== null;
  }

  say(name, values, more) {
    this.tell.say(name, values, more);
  }

  /* ---- modes, selection ---- */

  setMode(mode) {
    this.#draft = null;
    this.mode = mode;
    this.paint();
    if (mode === "draw" && this.canDraw()) this.say("armed", { label: this.collection.label(this.active) });
    if (mode === "select") this.say("selecting");
    if (mode === "pan") this.say("panning");
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
    if (!box) return this.say("deselected");
    this.frame.keepInView({ x: box.x0, y: box.y0 });
    this.say("box", this.facts(box));
  }

  highlight(option) {
    this.#lit = option;
    this.paint();
  }

  hover(option) {
    if (option === this.#hovered) return;
    this.#hovered = option;
    this.tell.hovered(option);
  }

  /* Esc: what is begun is given up; else the selection; false if there was neither. */
  cancel() {
    if (this.#draft || this.#preview) {
      this.#draft = this.#preview = null;
      this.paint();
      this.say("cancelled");
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
    this.#draft = { anchor, corner: anchor };
    this.paint();
  }

  sizeDraft(corner) {
    this.#draft = { ...this.#draft, corner };
    this.paint();
  }

  /* The first corner was set by a click or a key; the second will follow. */
  awaitCorner() {
    const { anchor } = this.#draft;
    this.beginDraft(anchor);
    this.say("corner", { x: Math.round(anchor.x), y: Math.round(anchor.y) });
  }

  /* `least`: the shortest side, in image pixels, that is not taken for an accident. */
  finishDraft(least) {
    const { anchor, corner } = this.#draft;
    const shape = between(anchor, corner, this.frame.size);
    this.#draft = null;
    if (!shape || shape.x1 - shape.x0 < least || shape.y1 - shape.y0 < least) {
      this.paint();
      this.say("tooSmall");
      return;
    }
    const box = this.collection.add(this.active, shape);
    this.selected = box.id;
    this.#changed("draw");
    this.say("box", this.facts(box));
  }

  moveCross(point) {
    this.cross = point;
    if (this.#draft) {
      this.sizeDraft(point);
      const { anchor } = this.#draft;
      this.say("sizing", {
        left: Math.min(anchor.x, point.x),
        top: Math.min(anchor.y, point.y),
        width: Math.abs(anchor.x - point.x),
        height: Math.abs(anchor.y - point.y),
      });
    } else {
      this.paint();
      const { width, height } = this.frame.size;
      this.say("cross", { ...point, imageWidth: width, imageHeight: height });
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

  /* One press of an arrow key; `held` presses belong to the same step. */
  nudge(box, reason, held) {
    this.selected = box.id;
    if (!held) this.collection.close();
    this.#reshape(box, reason, `${reason} ${box.id}`);
  }

  assign(id, option) {
    const box = this.collection.find(id);
    if (!box || box.option === option) return;
    this.collection.replace({ ...box, option });
    this.#changed("assign");
    this.say("assigned", { label: this.collection.label(option) });
  }

  /* What the page `noted` beside the boxes is kept in the same step. */
  remove(ids, noted) {
    const gone = new Set(ids);
    const focused = this.focusedBox();
    if (!this.collection.remove(gone, noted)) return;
    if (focused && gone.has(focused.id)) this.focus();
    if (gone.has(this.selected)) this.selected = null;
    this.#changed("remove");
    if (gone.size) this.say("removed", { count: this.boxes.length });
  }

  undo() {
    if (this.#draft || this.#preview) this.cancel();
    else this.#travel("undo", "undone", "nothingToUndo");
  }

  redo() {
    this.#travel("redo", "redone", "nothingToRedo");
  }

  #travel(way, done, nothing) {
    if (!this.collection[way]()) return this.say(nothing);
    if (!this.selectedBox()) this.selected = null;
    this.say(done, { count: this.boxes.length }, this.#changed(way));
  }

  #reshape(box, reason, key) {
    if (!sameShape(this.collection.find(box.id), box)) {
      this.collection.replace(box, key);
      this.#changed(reason);
    }
    this.say("box", this.facts(box));
  }

  #changed(reason) {
    this.paint();
    return this.tell.changed(this.collection.copy(), reason);
  }

  /* ---- showing ---- */

  paint() {
    const draft = this.#draft && between(this.#draft.anchor, this.#draft.corner, this.frame.size);
    const begun = this.#draft && !draft ? this.#draft.anchor : null;
    this.painter.paint({
      boxes: this.boxes.map((box) => (box.id === this.#preview?.id ? this.#preview : box)),
      selected: this.selected,
      active: this.active,
      lit: this.#lit,
      mode: this.mode,
      scale: this.frame.scale,
      size: this.frame.size,
      draft,
      cross: this.mode === "draw" && this.#byKeyboard ? this.cross : begun,
      numberOf: (option) => this.collection.number(option),
      describe: (box) => this.tell.describe(this.facts(box)),
    });
    this.tell.updated();
  }
}
