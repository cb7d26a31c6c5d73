/* The buttons above the image: everything that the keys do. */

import { el, set } from "../dom.js";

const TOOLS = [
  { name: "draw", key: "R", mode: true },
  { name: "select", key: "V", mode: true },
  { name: "pan", key: "H", mode: true },
  { name: "zoomOut", sign: "−", key: "-" },
  { name: "zoomIn", sign: "+", key: "+" },
  { name: "zoomFit", key: "F" },
  { name: "undo", key: "Control+Z" },
  { name: "redo", key: "Control+Shift+Z" },
  { name: "remove", key: "Delete" },
  { name: "conceal", key: "I" },
];

export class Tools {
  #buttons = new Map();

  /* `act(name)` runs the action of a button. */
  constructor(messages, act) {
    this.element = el("div", { class: "boxes-tools", role: "group", "aria-label": messages.tools });
    for (const { name, sign, key, mode } of TOOLS) {
      const button = el("button", {
        type: "button",
        class: "boxes-tool",
        "data-tool": name,
        "aria-label": sign && messages[name],
        "aria-keyshortcuts": key,
        "aria-pressed": mode && "false",
        title: sign ? messages[name] : key,
      });
      button.textContent = sign ?? messages[name];
      if (!sign && key.length === 1) button.append(" ", el("kbd", { "aria-hidden": "true" }, key));
      // Not `disabled`, since a disabled button loses the focus.
      button.addEventListener("click", () => button.ariaDisabled !== "true" && act(name));
      this.#buttons.set(name, button);
      this.element.append(button);
    }
  }

  /* `can`: which of undo, redo, remove, zoomIn, zoomOut, draw are possible; `canBlur`: show the blur button. */
  show({ mode, can, canBlur }) {
    for (const { name, mode: isMode } of TOOLS) {
      const button = this.#buttons.get(name);
      if (isMode) set(button, { "aria-pressed": String(name === mode) });
      if (name in can) set(button, { "aria-disabled": can[name] ? null : "true" });
    }
    this.#buttons.get("conceal").hidden = !canBlur;
  }
}
