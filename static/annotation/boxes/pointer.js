/* Mouse, touch and pen. One gesture at a time: draw, move, resize, pan, or two fingers that zoom and pan.
   Acts on `board`. */

import { handleAt, moved, resized, under } from "./geometry.js";

const SLOP = 4; // screen pixels within which a press is a click; a finger is less steady
const TOUCH_SLOP = 8;
const NEW_DRAG = 16; // a second press that moves further than this is a new drag
const REACH = 12; // half a handle's target
const TOUCH_REACH = 20;

const isTouch = (event) => event.pointerType === "touch";
const slop = (event) => (isTouch(event) ? TOUCH_SLOP : SLOP);
const at = ({ clientX, clientY }) => ({ clientX, clientY });

export class Pointers {
  #gesture = null;
  #fingers = new Map();
  #listeners = new AbortController();

  constructor(board, frame) {
    this.board = board;
    this.frame = frame;
    const { view } = frame;
    const on = (target, type, act, options = {}) =>
      target.addEventListener(type, act, { signal: this.#listeners.signal, ...options });
    on(view, "pointerdown", (event) => this.#down(event));
    on(view, "pointermove", (event) => this.#move(event));
    on(view, "pointerup", (event) => this.#up(event));
    on(view, "pointercancel", (event) => this.#cancelled(event));
    on(view, "pointerleave", () => board.hover(null));
    // No text selection, no dragging of the image, and no change of focus by the browser.
    on(view, "mousedown", (event) => event.preventDefault());
    // A gesture must not scroll the page as well.
    on(view, "touchstart", (event) => this.#preventScroll(event), { passive: false });
    on(view, "wheel", (event) => this.#wheel(event), { passive: false });
  }

  destroy() {
    this.#listeners.abort();
  }

  /* Whether a gesture is running. The keyboard waits for it. */
  get busy() {
    return this.#gesture !== null;
  }

  /* Cancel the gesture and undo its effect; false if there was none. */
  cancel() {
    if (!this.#gesture) return false;
    const { kind } = this.#gesture;
    this.#gesture = null;
    if (kind === "pan" || kind === "pinch") return true;
    return this.board.cancel();
  }

  #preventScroll(event) {
    if (this.#gesture && event.cancelable) event.preventDefault();
  }

  #down(event) {
    this.board.byKeyboard = false;
    this.frame.view.focus({ preventScroll: true });
    if (isTouch(event) && this.#gesture?.pen) return; // the hand that holds the pen
    if (isTouch(event)) this.#fingers.set(event.pointerId, at(event));
    if (this.#fingers.size === 2) return this.#pinch(event);
    if (this.#gesture || this.#fingers.size > 2) return;
    const gesture = this.#begin(event);
    if (!gesture) return;
    this.#gesture = { ...gesture, id: event.pointerId, from: at(event), pen: event.pointerType === "pen" };
    this.frame.view.setPointerCapture(event.pointerId);
    this.#drag(event);
  }

  #begin(event) {
    const { board, frame } = this;
    const panning = board.mode === "pan" || board.spaceHeld || event.button === 1;
    // A finger in pan mode scrolls the view by itself.
    if (panning) return isTouch(event) && !board.spaceHeld ? null : { kind: "pan", last: at(event) };
    if (event.button !== 0) return null;
    if (!board.canWork()) return null;
    const start = frame.toImage(event);
    if (board.mode === "draw") {
      if (!board.canDraw()) return null;
      return { kind: "draw", start, waiting: board.draft?.anchor ?? null };
    }
    const box = board.selectedBox();
    const handle = box && handleAt(box, start, frame.scale, isTouch(event) ? TOUCH_REACH : REACH);
    if (handle) return { kind: "resize", start, handle, box };
    const candidates = under(board.boxes, start, slop(event) / frame.scale);
    if (!candidates.length) {
      board.select(null);
      return null;
    }
    const again = candidates.findIndex((each) => each.id === box?.id);
    const picked = again >= 0 ? box : candidates[0];
    board.select(picked.id);
    // A click on the selected box selects the next one under the pointer.
    const next = again >= 0 ? candidates[(again + 1) % candidates.length] : null;
    return { kind: "move", start, box: picked, next };
  }

  #move(event) {
    if (this.#fingers.has(event.pointerId)) this.#fingers.set(event.pointerId, at(event));
    const gesture = this.#gesture;
    if (gesture?.kind === "pinch") return this.#spread(gesture);
    if (gesture && gesture.id !== event.pointerId) return;
    if (gesture) return this.#drag(event);
    this.board.byKeyboard = false;
    const { draft } = this.board;
    if (draft?.anchor) this.board.sizeDraft(this.frame.toImage(event));
    else this.#hover(event);
  }

  #drag(event) {
    const { board, frame } = this;
    const gesture = this.#gesture;
    const point = frame.toImage(event);
    if (this.#movedBy(event, slop(event))) gesture.moved = true;
    if (gesture.kind === "pan") {
      frame.panBy(gesture.last.clientX - event.clientX, gesture.last.clientY - event.clientY);
      gesture.last = at(event);
    } else if (gesture.kind === "draw") {
      const anchor = gesture.waiting && !this.#movedBy(event, NEW_DRAG) ? gesture.waiting : gesture.start;
      board.beginDraft(anchor);
      board.sizeDraft(point);
    } else if (gesture.moved) {
      board.preview(this.#changedBox(gesture, point));
    }
  }

  #changedBox({ kind, handle, box, start }, point) {
    const dx = point.x - start.x;
    const dy = point.y - start.y;
    const { size } = this.frame;
    return kind === "resize" ? resized(box, handle, dx, dy, size) : moved(box, dx, dy, size);
  }

  #up(event) {
    this.#fingers.delete(event.pointerId);
    const gesture = this.#gesture;
    if (!gesture || (gesture.kind !== "pinch" && gesture.id !== event.pointerId)) return;
    if (gesture.kind === "pinch") {
      if (this.#fingers.size === 0) this.#gesture = null;
      return;
    }
    this.#drag(event);
    this.#gesture = null;
    const { board } = this;
    if (gesture.kind === "draw") {
      const clickedFirst = !gesture.waiting && !gesture.moved;
      if (clickedFirst) board.awaitCorner();
      else board.finishDraft(SLOP / this.frame.scale);
    } else if (gesture.kind === "pan") {
      return;
    } else if (gesture.moved) {
      board.commitPreview(gesture.kind);
    } else if (gesture.next) {
      board.select(gesture.next.id);
    }
  }

  #cancelled(event) {
    this.#fingers.delete(event.pointerId);
    const gesture = this.#gesture;
    if (gesture?.kind === "pinch" ? this.#fingers.size < 2 : gesture?.id === event.pointerId) this.cancel();
  }

  #movedBy(event, limit) {
    const { from } = this.#gesture;
    return Math.max(Math.abs(event.clientX - from.clientX), Math.abs(event.clientY - from.clientY)) >= limit;
  }

  /* Two fingers: the image point between them stays between them. */
  #pinch(event) {
    const waiting = this.#gesture?.waiting;
    this.cancel();
    if (waiting) this.board.beginDraft(waiting);
    for (const id of this.#fingers.keys()) this.frame.view.setPointerCapture(id);
    const { middle, apart } = this.#span();
    this.#gesture = {
      kind: "pinch",
      id: event.pointerId,
      apart,
      zoom: this.frame.zoom,
      point: this.frame.toImage(middle),
    };
  }

  #spread(gesture) {
    if (this.#fingers.size < 2) return;
    const { middle, apart } = this.#span();
    this.frame.zoomTo((gesture.zoom * apart) / gesture.apart, { point: gesture.point, at: middle });
  }

  #span() {
    const [a, b] = [...this.#fingers.values()];
    return {
      middle: { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 },
      apart: Math.max(Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), 1),
    };
  }

  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.frame.zoomTo(this.frame.zoom * Math.exp(-event.deltaY / 300), {
      point: this.frame.toImage(event),
      at: at(event),
    });
  }

  /* Set the cursor for what a press would do here, and highlight the option of the box under it. */
  #hover(event) {
    if (isTouch(event)) return;
    const { board, frame } = this;
    const point = frame.toImage(event);
    const [box] = under(board.boxes, point);
    board.hover(box?.option ?? null);
    const selected = board.mode === "select" && board.selectedBox();
    const handle = selected && handleAt(selected, point, frame.scale, REACH);
    frame.view.dataset.under = handle || (box ? "box" : "");
  }
}
