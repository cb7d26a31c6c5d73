/* The buttons for the image: everything that the keys do. In a narrow window only their pictures are seen. */

import { el, set, svg } from "../dom.js";

/* `picture`: the path of lines in a square of 24. `brief`: its picture is all that is ever seen. */
const TOOLS = [
  { name: "draw", key: "R", mode: true, picture: "M4 8V4h4M16 4h4v4M20 12v-1M4 12v4M4 20h4M18 14v8M14 18h8" },
  { name: "select", key: "V", mode: true, picture: "M6 3l12 9-6 1-3 6z" },
  { name: "pan", key: "H", mode: true, brief: true, picture: "M12 3v18M3 12h18M9 6l3-3 3 3M9 18l3 3 3-3M6 9l-3 3 3 3M18 9l3 3-3 3" },
  { name: "zoomOut", key: "-", brief: true, picture: "M5 12h14" },
  { name: "zoomIn", key: "+", brief: true, picture: "M12 5v14M5 12h14" },
  { name: "zoomFit", key: "F", picture: "M3 8V3h5M21 8V3h-5M3 16v5h5M21 16v5h-5M8 9h8v6H8z" },
  { name: "undo", key: "Control+Z", brief: true, picture: "M8 5L4 9l4 4M4 9h10a5 5 0 0 1 0 10H9" },
  { name: "redo", key: "Control+Shift+Z", brief: true, picture: "M16 5l4 4-4 4M20 9H10a5 5 0 0 0 0 10h5" },
  { name: "remove", key: "Delete", brief: true, picture: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5" },
  { name: "conceal", key: "I", brief: true, picture: "M3 12s3-6 9-6 9 6 9 6-3 6-9 6-9-6-9-6zM4 4l16 16" },
];

export class Tools {
  #buttons = new Map();

  /* `act(name)` runs the action of a button. */
  constructor(messages, act) {
    this.element = el("div", { class: "boxes-tools", role: "group", "aria-label": messages.tools });
    for (const { name, key, mode, brief, picture } of TOOLS) {
      const words = el("span", { class: brief ? "boxes-words is-brief" : "boxes-words" }, messages[name]);
      const drawing = svg("svg", { class: "boxes-picture", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: picture }));
      const button = el(
        "button",
        {
          type: "button",
          class: "boxes-tool",
          "data-tool": name,
          "aria-keyshortcuts": key,
          "aria-pressed": mode && "false",
          title: `${messages[name]} (${key})`,
        },
        drawing,
        words,
      );
      if (!brief && key.length === 1) button.append(" ", el("kbd", { "aria-hidden": "true" }, key));
      // Not `disabled`, since a disabled button loses the focus.
      button.addEventListener("click", () => button.ariaDisabled !== "true" && act(name));
      this.#buttons.set(name, button);
      this.element.append(button);
    }
  }

  /* `can`: which of undo, redo, remove, zoomOut, zoomFit are possible; `fitted`: the image is fitted to the window;
     `canBlur`: show the blur button. */
  show({ mode, can, fitted, canBlur }) {
    for (const { name, mode: isMode } of TOOLS) {
      const button = this.#buttons.get(name);
      if (isMode) set(button, { "aria-pressed": String(name === mode) });
      if (name in can) set(button, { "aria-disabled": can[name] ? null : "true" });
    }
    set(this.#buttons.get("zoomFit"), { "aria-pressed": String(fitted) });
    this.#buttons.get("conceal").hidden = !canBlur;
  }
}
