/* The box editor: draws boxes on an image by mouse, touch, pen or keyboard alone.

     const editor = new BoxEditor(container, {
       src, width, height,        // the image and its natural size
       alt, blurred,              // blurred: hidden until its annotator reveals it
       boxes, options,            // [{id, option, x0, y0, x1, y1}], [{id, label, number}]
       messages,                  // the texts of box_editor() in annotation/annotate/texts.py
       tools,                     // the element for the buttons; without it they are above the image
       extra,                     // state of the page with the boxes' undo history: see commit()
       onchange(boxes, reason),   // after every change: draw, move, resize, assign, remove, undo, redo;
                                  // may return text to announce after an undo or redo
       onstatus(text),            // after every announcement
       onhover(option | null),    // the pointer or the focus moved to a box of this option
       onreveal(shown),           // the image was revealed (true) or blurred again (false)
     });

   Boxes are in whole pixels of the natural image, clipped to it. The editor handles keys inside its element and
   calls preventDefault(); a page with shortcuts ignores events that are `defaultPrevented`, and may pass others on
   with handleKey(). Why no library: docs/adr/0006. */

import { Board } from "./boxes/board.js";
import { el, fill, set } from "./dom.js";
import { Frame } from "./boxes/frame.js";
import { press } from "./boxes/keys.js";
import { Pointers } from "./boxes/pointer.js";
import { Tools } from "./boxes/tools.js";

const SETTLE_MS = 120; // so that a screen reader does not announce every step of a key held down
let editors = 0;

export class BoxEditor {
  #frame;
  #board;
  #pointers;
  #tools;
  #messages;
  #handlers;
  #canBlur = false;
  #status;
  #revealer;
  #failed;
  #announcement = null;
  #listeners = new AbortController();

  constructor(container, { messages, tools = null, onchange, onstatus, onhover, onreveal, ...item }) {
    this.#messages = messages;
    this.#handlers = { onchange, onstatus, onhover, onreveal };
    this.#build(container, tools);
    this.load(item);
  }

  /* Show another image with its boxes, with an empty undo history. */
  load({ src, width, height, alt = "", boxes = [], options = [], extra = null, blurred = false }) {
    this.#canBlur = blurred;
    this.#announceLater("");
    this.#failed.hidden = true;
    this.#frame.show({ src, width, height, alt });
    this.#board.load({ boxes, options, extra, concealed: blurred });
  }

  /* Draw boxes for an option from now on; null stops drawing. */
  setActive(option, label, number) {
    if (option !== null) this.#board.collection.name(option, label, number);
    this.#board.setActive(option);
  }

  boxesOf(option) {
    return this.allBoxes().filter((box) => box.option === option);
  }

  allBoxes() {
    return this.#board.collection.copy();
  }

  /* Select a box, so that arrow keys move it; null selects none. */
  selectBox(id) {
    if (id !== null) this.setMode("select");
    this.#board.select(id);
  }

  /* Remove one box, or several in one step. */
  remove(ids) {
    this.#board.remove([ids].flat());
  }

  /* Add an undo step: the page's new `extra` state, with the boxes `ids` removed. Undo and redo restore it. */
  commit(extra, ids = []) {
    this.#board.remove(ids, extra);
  }

  get extra() {
    return this.#board.collection.extra;
  }

  /* Assign a box to another option. */
  assign(id, option, label, number) {
    this.#board.collection.name(option, label, number);
    this.#board.assign(id, option);
  }

  undo() {
    this.#board.undo();
  }

  redo() {
    this.#board.redo();
  }

  /* Highlight the boxes of one option; null highlights none. */
  highlight(option) {
    this.#board.highlight(option);
  }

  /* Reveal the image, or blur it again; false if this image is never blurred. */
  toggleBlur() {
    if (this.#canBlur) this.#setConcealed(!this.#board.concealed);
    return this.#canBlur;
  }

  /* Whether the image is blurred now. */
  get concealed() {
    return this.#board.concealed;
  }

  /* Whether the image has loaded. */
  get loaded() {
    return this.#frame.loaded;
  }

  /* "draw", "select" or "pan". */
  setMode(mode) {
    if (mode !== this.#board.mode) this.#board.setMode(mode);
  }

  zoomIn() {
    this.#frame.zoomIn();
    this.#announceZoom();
  }

  zoomOut() {
    this.#frame.zoomOut();
    this.#announceZoom();
  }

  /* Back from a zoomed image to the fitted one; from that, change between fitted to the window and wide. */
  zoomFit() {
    const frame = this.#frame;
    if (frame.zoom === 1 && !frame.canFit) return;
    if (frame.zoom === 1) frame.fitToWindow(!frame.fitted);
    else frame.zoomTo(1);
    this.#board.announce(frame.fitted || !frame.canFit ? "whole" : "wide");
  }

  /* Scroll the page to the image. */
  bringIntoView() {
    this.#frame.element.scrollIntoView({ block: "nearest" });
  }

  /* Handle a keydown from elsewhere in the page: letters, Delete, undo, but not arrows. True if it was used. */
  handleKey(event) {
    return this.#press(event, false);
  }

  destroy() {
    clearTimeout(this.#announcement);
    this.#listeners.abort();
    this.#pointers.destroy();
    this.#frame.destroy();
    this.#tools.element.remove();
    this.element.remove();
  }

  #build(container, toolsAt) {
    const messages = this.#messages;
    editors += 1;
    const helpId = `boxes-help-${editors}`;
    this.#frame = new Frame({ editor: messages.editor, helpId }, () => this.#board?.paint());
    this.#board = new Board(this.#frame, {
      announce: (name, values, more) => this.#announceLater([fill(messages[name], values), more].filter(Boolean).join(" ")),
      describe: (facts) => fill(messages.box, facts),
      changed: (boxes, reason) => this.#handlers.onchange?.(boxes, reason),
      hovered: (option) => this.#handlers.onhover?.(option),
      updated: () => this.#show(),
    });
    this.#pointers = new Pointers(this.#board, this.#frame);
    this.#tools = new Tools(messages, (name) => this.#act(name));
    this.#revealer = el("button", { type: "button", class: "button boxes-reveal", "aria-keyshortcuts": "I" });
    this.#revealer.textContent = messages.reveal;
    this.#failed = el("p", { class: "boxes-failed", role: "alert", hidden: true }, messages.failed, " ");
    const retry = el("button", { type: "button", class: "boxes-tool" }, messages.retry);
    this.#failed.append(retry);
    this.#status = el("p", { class: "boxes-status", role: "status" });
    this.#frame.element.append(this.#revealer, this.#failed);
    this.element = el(
      "div",
      { class: "boxes" },
      toolsAt ? null : this.#tools.element,
      this.#frame.element,
      this.#status,
      el("p", { class: "boxes-help", id: helpId }, messages.help),
    );
    toolsAt?.append(this.#tools.element);
    container.append(this.element);
    this.#listen(retry);
  }

  #listen(retry) {
    const on = (target, type, act) => target.addEventListener(type, act, { signal: this.#listeners.signal });
    const { image, view } = this.#frame;
    on(this.element, "keydown", (event) => {
      if (this.#press(event, view.contains(event.target))) event.preventDefault();
    });
    on(window, "keyup", (event) => event.key === " " && this.#releaseSpace());
    on(window, "blur", () => this.#releaseSpace());
    on(view, "focusin", () => {
      const box = this.#board.focusedBox();
      if (box) this.#board.select(box.id, { quiet: true }); // a screen reader reads its label anyway
      this.#board.hover(box?.option ?? null);
    });
    on(view, "focusout", () => this.#board.hover(null));
    on(this.#revealer, "click", () => this.#setConcealed(false));
    on(image, "error", () => (this.#failed.hidden = false));
    on(image, "load", () => (this.#failed.hidden = true));
    on(retry, "click", () => set(image, { src: image.getAttribute("src") }));
  }

  #press(event, inView) {
    if (event.isComposing || !event.key) return false; // the browser's autofill sends events without a key
    if (this.#pointers.busy) {
      const undo = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey);
      return event.key === "Escape" || undo ? this.#pointers.cancel() : false;
    }
    const acted = press(this, this.#board, this.#frame, event, inView);
    if (acted) this.#show();
    return acted;
  }

  #setConcealed(hide) {
    if (hide === this.#board.concealed || !this.#canBlur) return;
    const focused = [this.element, this.#tools.element].some((part) => part.contains(document.activeElement));
    this.#board.concealed = hide;
    this.#board.cancel();
    this.#board.paint();
    if (focused) this.#board.focus(); // the button that had the focus is hidden now
    this.#board.announce(hide ? "concealed" : "revealed");
    this.#handlers.onreveal?.(!hide);
  }

  #act(name) {
    if (name === "draw" || name === "select" || name === "pan") this.#board.setMode(name);
    else if (name === "remove") this.remove(this.#board.selected);
    else if (name === "conceal") this.toggleBlur();
    else this[name]();
  }

  #releaseSpace() {
    this.#board.spaceHeld = false;
    this.#show();
  }

  #announceZoom() {
    this.#board.announce("zoom", { percent: Math.round(this.#frame.zoom * 100) });
  }

  #show() {
    const board = this.#board;
    if (!this.#tools) return;
    const mode = board.spaceHeld ? "pan" : board.mode;
    set(this.element, { "data-mode": mode });
    this.element.classList.toggle("is-concealed", board.concealed);
    this.#revealer.hidden = !board.concealed;
    this.#tools.show({
      mode: board.mode,
      canBlur: this.#canBlur && !board.concealed,
      fitted: this.#frame.fitted,
      can: {
        undo: board.collection.history.canUndo || board.draft,
        redo: board.collection.history.canRedo,
        remove: board.selected !== null,
        zoomOut: this.#frame.zoom > 1,
        zoomFit: this.#frame.zoom > 1 || this.#frame.canFit,
      },
    });
  }

  #announceLater(text) {
    clearTimeout(this.#announcement);
    this.#announcement = setTimeout(() => {
      this.#status.textContent = text;
    }, SETTLE_MS);
    if (text) this.#handlers.onstatus?.(text);
  }
}
