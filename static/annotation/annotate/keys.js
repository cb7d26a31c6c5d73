/* Which key asks for what, wherever the focus is. No key acts while somebody writes, but for those that
   send; what the drawing board has taken for itself is left to it. */

/* The digit of a key, NaN for others; on keyboards where digits need Shift (French), the key counts too. */
export function digit(event) {
  if (/^\d$/.test(event.key)) return Number(event.key);
  return event.shiftKey ? NaN : Number(/^Digit(\d)$/.exec(event.code)?.[1] ?? NaN);
}

/* The Latin key: a keyboard of another script (Arabic, Greek, Russian) has its letters in the same places. */
export function latin({ key, code }) {
  if (key.length !== 1 || key < "\u0080") return key;
  return key === "؟" ? "?" : (/^Key([A-Z])$/.exec(code)?.[1].toLowerCase() ?? key);
}

function isWriting(target) {
  return target.matches?.("textarea, select, input:not([type=radio], [type=checkbox])") ?? false;
}

/* `actions`: send(), help(), skip(), last() and press(event), which says whether the key meant something to
   the item; `sees(event)` says whether the item was on the screen when the key was pressed, `answerable()`
   whether Enter may send. */
export function listen(actions) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.altKey) return;
    if (document.querySelector("dialog[open]") || !actions.sees(event)) return;
    if (act(event, actions)) event.preventDefault();
  });
}

function act(event, actions) {
  const chord = event.ctrlKey || event.metaKey;
  const { target } = event;
  const key = latin(event);
  /* A key held down sends one item, not the next ones too. */
  const send = () => event.repeat || actions.send();
  if (key === "Enter" && chord) return done(send);
  if (key === "F1") return done(actions.help);
  if (isWriting(target)) return false;
  if (key === "Enter") {
    if (target.closest?.("a, button, summary, [data-canvas]") || !actions.answerable()) return false;
    return done(send);
  }
  if (key === "?") return done(actions.help);
  if (actions.press(event)) return true;
  if (chord || event.shiftKey) return false;
  if (key === "s") return done(actions.skip);
  if (key === "b") return done(actions.last);
  return false;
}

function done(action) {
  action();
  return true;
}
