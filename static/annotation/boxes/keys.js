/* The keyboard: everything that the pointer can do. Each step is announced to screen readers. */

import { moved, resized, within } from "./geometry.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const PAN = 48; // screen pixels that an arrow key moves the view

/* The key on a Latin keyboard: other scripts (Arabic, Greek, Russian) have their letters in the same places. */
function latinKey({ key, code }) {
  if (key.length !== 1) return key;
  if (key < "\u0080") return key.toLowerCase();
  const brackets = { BracketLeft: "[", BracketRight: "]" };
  return /^Key([A-Z])$/.exec(code)?.[1].toLowerCase() ?? brackets[code] ?? key;
}

/* How far one press of an arrow key moves, in image pixels. */
const stepSize = (event) => (event.shiftKey ? 1 : event.ctrlKey || event.metaKey ? 50 : 10);

/* Handle a keydown; true if the editor used it. `inView`: the image has the focus, so arrow keys, Enter and space
   belong to the editor. */
export function press(editor, board, frame, event, inView) {
  const chord = event.ctrlKey || event.metaKey;
  const letter = latinKey(event);
  if (chord && !event.altKey && letter === "z") return step(board, event.shiftKey ? "redo" : "undo");
  if (chord && !event.altKey && !event.shiftKey && letter === "y") return step(board, "redo");
  if (event.key in ARROWS) return inView && arrow(board, frame, event);
  if (chord || event.altKey) {
    // With AltGr, brackets still count as brackets.
    if (!event.getModifierState("AltGraph") || (letter !== "[" && letter !== "]")) return false;
  }
  switch (letter) {
    case "r":
    case "n":
      board.setMode("draw");
      frame.view.focus({ preventScroll: true });
      return true;
    case "v":
      board.setMode("select");
      frame.view.focus({ preventScroll: true });
      return true;
    case "h":
      board.setMode("pan");
      frame.view.focus({ preventScroll: true });
      return true;
    case "i":
      return editor.toggleBlur();
    case "+":
    case "=":
      editor.zoomIn();
      return true;
    case "-":
    case "_":
      editor.zoomOut();
      return true;
    case "f":
      editor.zoomFit();
      return true;
    case "]":
      return next(board, 1);
    case "[":
      return next(board, -1);
    case "Delete":
    case "Backspace":
      if (!board.selectedBox()) return false;
      board.remove([board.selected]);
      return true;
    case "Escape":
      return board.cancel();
    case "Enter":
      return inView && enter(board);
    case " ":
      if (inView) board.spaceHeld = true;
      return inView;
    default:
      return false;
  }
}

function step(board, which) {
  board[which]();
  return true;
}

/* Select the next box of the active attribute, or of all if it has none. */
function next(board, by) {
  const ofOption = board.boxes.filter((box) => box.option === board.active);
  const boxes = ofOption.length ? ofOption : board.boxes;
  if (!boxes.length) {
    board.announce("noBoxes");
    return true;
  }
  const current = boxes.findIndex((box) => box.id === board.selected);
  const index = current < 0 ? (by > 0 ? 0 : boxes.length - 1) : (current + by + boxes.length) % boxes.length;
  board.setMode("select");
  board.focus();
  board.select(boxes[index].id);
  return true;
}

function enter(board) {
  if (board.mode !== "draw" || !board.canWork() || !board.canDraw()) return false;
  board.byKeyboard = true;
  if (board.draft?.anchor) {
    board.finishDraft(1);
  } else {
    board.beginDraft(board.cross);
    board.awaitCorner();
  }
  return true;
}

function arrow(board, frame, event) {
  const [right, down] = ARROWS[event.key];
  const by = stepSize(event);
  const box = board.focusedBox() ?? (board.mode === "select" ? board.selectedBox() : null);
  if (box && board.canWork()) {
    const change = (event.altKey ? resizedBy : moved)(box, right * by, down * by, frame.size);
    board.nudge(change, event.altKey ? "resize" : "move", event.repeat);
    const lower = event.altKey || right + down > 0;
    frame.keepInView(lower ? { x: change.x1, y: change.y1 } : { x: change.x0, y: change.y0 });
    return true;
  }
  if (event.altKey) return false;
  if (board.mode === "draw" && board.canWork() && board.canDraw()) {
    board.byKeyboard = true;
    board.moveCross(within({ x: board.cross.x + right * by, y: board.cross.y + down * by }, frame.size));
    frame.keepInView(board.cross);
    return true;
  }
  if (frame.zoom === 1) return false;
  frame.panBy(right * PAN, down * PAN);
  return true;
}

/* Resize by the lower right corner, to at least one pixel. */
function resizedBy(box, dx, dy, size) {
  const right = Math.max(dx, box.x0 + 1 - box.x1);
  const down = Math.max(dy, box.y0 + 1 - box.y1);
  return resized(box, "se", right, down, size);
}
