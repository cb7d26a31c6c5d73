/* The box editor: draws boxes on an image by mouse, touch, pen or keyboard alone.

     const editor = new BoxEditor(container, {
       src, width, height,        // the image and its natural size
       alt, blurred,              // blurred: hidden until its annotator reveals it
       boxes, options,            // [{id, option, x0, y0, x1, y1}], [{id, label, number}]
       messages,                  // translations of what boxes/messages.js says in English
       noted,                     // what the page keeps beside the boxes, in the same history: see note()
       onchange(boxes, reason),   // after every change: draw, move, resize, assign, remove, undo, redo;
                                  // may return words to be said with what is undone or done again
       onstatus(text),            // what was announced
       onhover(option | null),    // the pointer, or the focus, came to a box of this option
       onreveal(shown),           // the image was revealed (true) or blurred again (false)
     });

   Boxes are in whole pixels of the natural image, clipped to it. Inside the element the editor handles its
   keys itself and marks them with preventDefault(); a page with keys of its own ignores events that are
   `defaultPrevented` and may hand others on with handleKey(). Why it is our own: docs/adr/0006. */

import { Board } from "./boxes/board.js";
import { html, set } from "./boxes/dom.js";
import { Frame } from "./boxes/frame.js";
import { press } from "./boxes/keys.js";
import { MESSAGES, fill } from "./boxes/messages.js";
import { Pointers } from "./boxes/pointer.js";
import { Tools } from "./boxes/tools.js";

const SETTLE_MS = 120; // a screen reader is not given every step of a key held down
let made = 0;

export class BoxEditor {
  #frame;
  #board;
  #pointers;
  #tools;
  #messages;
  #handlers;
  #blurs = false;
  #status;
  #revealer;
  #failed;
  #later = null;
  #done = new AbortController();

  constructor(container, { messages = {}, onchange, onstatus, onhover, onreveal, ...item }) {
    this.#messages = { ...MESSAGES, ...messages };
    this.#handlers = { onchange, onstatus, onhover, onreveal };
    this.#build(container);
    this.load(item);
  }

  /* Another image, with boxes of its own; nothing before it can be undone any more. */
  load({ src, width, height, alt = "", boxes = [], options = [], noted = null, blurred = false }) {
    this.#blurs = blurred;
    this.#tellLater("");
    this.#failed.hidden = true;
    this.#frame.show({ src, width, height, alt });
    this.#board.load({ boxes, options, noted, concealed: blurred });
  }

  /* Arms drawing for an option; null puts the tool down. */
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

  /* Selects a box, ready to be moved by arrow keys; null selects none. */
  selectBox(id) {
    if (id !== null) this.setMode("select");
    this.#board.select(id);
  }

  /* Removes one box, or several in one step. */
  remove(ids) {
    this.#board.remove([ids].flat());
  }

  /* A step of the page's own, with the boxes that go with it; undo and redo bring `noted` back as it was. */
  note(noted, ids = []) {
    this.#board.remove(ids, noted);
  }

  get noted() {
    return this.#board.collection.noted;
  }

  /* Gives a box to another option. */
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

  /* Brings out the boxes of one option; null brings out none. */
  highlight(option) {
    this.#board.highlight(option);
  }

  reveal() {
    this.#conceal(false);
  }

  conceal() {
    this.#conceal(true);
  }

  /* Reveals, or blurs again; false where this image is not to be blurred. */
  toggleBlur() {
    if (this.#blurs) this.#conceal(!this.#board.concealed);
    return this.#blurs;
  }

  /* Blurred, and not yet revealed? */
  get concealed() {
    return this.#board.concealed;
  }

  /* Is the picture there? */
  get loaded() {
    return this.#frame.loaded;
  }

  /* "draw", "select" or "pan". */
  setMode(mode) {
    if (mode !== this.#board.mode) this.#board.setMode(mode);
  }

  zoomIn() {
    this.#frame.zoomIn();
    this.#sayZoom();
  }

  zoomOut() {
    this.#frame.zoomOut();
    this.#sayZoom();
  }

  zoomFit() {
    this.#frame.zoomTo(1);
    this.#sayZoom();
  }

  focus() {
    this.#board.focus();
  }

  /* Acts on a keydown from elsewhere in the page: letters, Delete, undo, not arrows. True if it did. */
  handleKey(event) {
    return this.#press(event, false);
  }

  destroy() {
    clearTimeout(this.#later);
    this.#done.abort();
    this.#pointers.destroy();
    this.#frame.destroy();
    this.element.remove();
  }

  /* ---- inside ---- */

  #build(container) {
    const words = this.#messages;
    made += 1;
    const helpId = `boxes-help-${made}`;
    this.#frame = new Frame({ editor: words.editor, helpId }, () => this.#board?.paint());
    this.#board = new Board(this.#frame, {
      say: (name, values, more) => this.#tellLater([fill(words[name], values), more].filter(Boolean).join(" ")),
      describe: (facts) => fill(words.box, facts),
      changed: (boxes, reason) => this.#handlers.onchange?.(boxes, reason),
      hovered: (option) => this.#handlers.onhover?.(option),
      updated: () => this.#show(),
    });
    this.#pointers = new Pointers(this.#board, this.#frame);
    this.#tools = new Tools(words, (name) => this.#act(name));
    this.#revealer = html("button", { type: "button", class: "button boxes-reveal", "aria-keyshortcuts": "I" });
    this.#revealer.textContent = words.reveal;
    this.#failed = html("p", { class: "boxes-failed", role: "alert", hidden: true }, words.failed, " ");
    const retry = html("button", { type: "button", class: "boxes-tool" }, words.retry);
    this.#failed.append(retry);
    this.#status = html("p", { class: "boxes-status", role: "status" });
    this.#frame.element.append(this.#revealer, this.#failed);
    this.element = html(
      "div",
      { class: "boxes" },
      this.#tools.element,
      this.#frame.element,
      this.#status,
      html("p", { class: "boxes-help", id: helpId }, words.help),
    );
    container.append(this.element);
    this.#listen(retry);
  }

  #listen(retry) {
    const on = (target, type, act) => target.addEventListener(type, act, { signal: this.#done.signal });
    const { image, view } = this.#frame;
    on(this.element, "keydown", (event) => {
      if (this.#press(event, view.contains(event.target))) event.preventDefault();
    });
    on(window, "keyup", (event) => event.key === " " && this.#releaseSpace());
    on(window, "blur", () => this.#releaseSpace());
    on(view, "focusin", () => {
      const box = this.#board.focusedBox();
      if (box) this.#board.select(box.id, { quiet: true }); // its label is read anyway
      this.#board.hover(box?.option ?? null);
    });
    on(view, "focusout", () => this.#board.hover(null));
    on(this.#revealer, "click", () => this.reveal());
    on(image, "error", () => this.#fail(true));
    on(image, "load", () => this.#fail(false));
    on(retry, "click", () => set(image, { src: image.getAttribute("src") }));
  }

  #press(event, inView) {
    if (event.isComposing || !event.key) return false; // a form filled in by the browser sends no key
    if (this.#pointers.busy) {
      const undo = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey);
      return event.key === "Escape" || undo ? this.#pointers.cancel() : false;
    }
    const acted = press(this, this.#board, this.#frame, event, inView);
    if (acted) this.#show();
    return acted;
  }

  #conceal(hide) {
    if (hide === this.#board.concealed || !this.#blurs) return;
    const here = this.element.contains(document.activeElement);
    this.#board.concealed = hide;
    this.#board.cancel();
    this.#board.paint();
    if (here) this.#board.focus(); // the button that was pressed is gone
    this.#board.say(hide ? "concealed" : "revealed");
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

  #fail(failed) {
    this.#failed.hidden = !failed;
  }

  #sayZoom() {
    this.#board.say("zoom", { percent: Math.round(this.#frame.zoom * 100) });
  }

  #show() {
    const board = this.#board;
    if (!this.#tools) return;
    const held = board.spaceHeld ? "pan" : board.mode;
    set(this.element, { "data-mode": held });
    this.element.classList.toggle("is-concealed", board.concealed);
    this.#revealer.hidden = !board.concealed;
    this.#tools.show({
      mode: board.mode,
      blurs: this.#blurs && !board.concealed,
      can: {
        undo: board.collection.canUndo || board.draft,
        redo: board.collection.canRedo,
        remove: board.selected !== null,
        zoomOut: this.#frame.zoom > 1,
        zoomFit: this.#frame.zoom > 1,
      },
    });
  }

  #tellLater(text) {
    clearTimeout(this.#later);
    this.#later = setTimeout(() => {
      this.#status.textContent = text;
    }, SETTLE_MS);
    if (text) this.#handlers.onstatus?.(text);
  }
}
