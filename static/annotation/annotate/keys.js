/* Keyboard shortcuts, wherever the focus is. While somebody types, only the keys that send work. Keys that the box
   editor has handled are ignored. */

/* The digit of a key, or NaN. On keyboards where digits need Shift (French), the key's place counts too. */
export function digit(event) {
  if (/^\d$/.test(event.key)) return Number(event.key);
  return event.shiftKey ? NaN : Number(/^Digit(\d)$/.exec(event.code)?.[1] ?? NaN);
}

/* The key on a Latin keyboard: other scripts (Arabic, Greek, Russian) have their letters in the same places. */
export function latinKey({ key, code }) {
  if (key.length !== 1 || key < "\u0080") return key;
  return key === "؟" ? "?" : (/^Key([A-Z])$/.exec(code)?.[1].toLowerCase() ?? key);
}

function isTyping(target) {
  return target.matches?.("textarea, select, input:not([type=radio], [type=checkbox])") ?? false;
}

/* `actions`: send(), help(), skip(), last(), and press(event), which returns whether the item used the key.
   `accepts(event)`: whether the item was on the screen when the key was pressed. */
export function listen(actions) {
  addEventListener("keydown", showKeyCaps, { capture: true });
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.altKey) return;
    if (document.querySelector("dialog[open]") || !actions.accepts(event)) return;
    if (act(event, actions)) event.preventDefault();
  });
}

/* Key caps are shown where there is a mouse or a touch pad, and from the first key of a keyboard on. Keys in a field
   may come from a keyboard on the screen. */
function showKeyCaps({ key, isComposing, target }) {
  if (!key || key === "Unidentified" || isComposing || isTyping(target)) return;
  document.documentElement.classList.add("has-keyboard");
}

function act(event, actions) {
  const chord = event.ctrlKey || event.metaKey;
  const { target } = event;
  const key = latinKey(event);
  /* A key held down sends one item only. */
  const send = () => event.repeat || actions.send();
  if (key === "Enter" && chord) return run(send);
  if (key === "F1") return run(actions.help);
  if (isTyping(target)) return false;
  if (key === "Enter") {
    return target.closest?.("a, button, summary, [data-canvas]") ? false : run(send);
  }
  if (key === "?") return run(actions.help);
  if (actions.press(event)) return true;
  if (chord || event.shiftKey) return false;
  if (key === "s") return run(actions.skip);
  if (key === "b") return run(actions.last);
  return false;
}

function run(action) {
  action();
  return true;
}
