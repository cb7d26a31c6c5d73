/* One option of a depiction page: a checkbox and, once chosen, its boxes or "visible in the image as a whole".
   Pointing at it or focusing it highlights its boxes. */

import { el, fill } from "../dom.js";

export class OptionRow {
  #view;
  #messages;
  #whole;
  #more;
  #boxes;
  #draw;

  constructor({ option, key, messages, view }) {
    this.#view = view;
    this.#messages = messages;
    this.id = option.id;
    this.none = option.none;
    this.key = key;
    this.position = option.position;
    this.text = option.none ? messages.none : option.text;
    this.input = el("input", {
      type: "checkbox",
      id: `option-${this.position}`,
      "aria-keyshortcuts": key,
      onchange: () => {
        this.#toggleMore();
        view.toggled(this);
      },
    });
    this.element = el(
      "div",
      {
        class: "option",
        "data-option": this.id,
        onpointerenter: () => view.highlight(this),
        onpointerleave: () => view.highlight(null),
        onfocusin: () => {
          view.highlight(this);
          view.activate(this);
        },
        onfocusout: () => view.highlight(null),
      },
      el(
        "label",
        { class: "choice", for: `option-${this.position}` },
        this.input,
        el("span", { class: "choice-words choice-name" }, this.text),
        key === null ? null : el("kbd", { "aria-hidden": "true" }, String(key)),
      ),
    );
    if (!this.none) this.#addMore();
  }

  #addMore() {
    const describedBy = `option-${this.position}`;
    this.#whole = el("input", {
      type: "checkbox",
      "aria-keyshortcuts": "w",
      "aria-describedby": describedBy,
      onchange: () => this.#view.wholeChanged(),
    });
    this.#draw = el(
      "button",
      { type: "button", class: "button button-quiet small", "aria-pressed": "false", onclick: () => this.#view.draw(this) },
      this.#messages.draw,
      el("span", { class: "visually-hidden" }, `: ${this.text}`),
    );
    this.#boxes = el("ul", { class: "option-boxes" });
    this.#more = el(
      "div",
      { class: "option-more", hidden: true },
      this.#draw,
      this.#boxes,
      el(
        "label",
        { class: "check small" },
        this.#whole,
        el("span", {}, this.#messages.whole_image, el("span", { class: "visually-hidden" }, `: ${this.text}`)),
        el("kbd", { "aria-hidden": "true" }, "w"),
      ),
    );
    this.element.append(this.#more);
  }

  get chosen() {
    return this.input.checked;
  }

  get whole() {
    return this.#whole?.checked ?? false;
  }

  choose(chosen) {
    if (!chosen && this.#more?.contains(document.activeElement)) this.input.focus({ preventScroll: true });
    this.input.checked = chosen;
    this.#toggleMore();
  }

  #toggleMore() {
    if (this.#more) this.#more.hidden = !this.chosen;
  }

  setWhole(whole) {
    if (this.#whole) this.#whole.checked = whole;
  }

  toggleWhole() {
    if (!this.#whole || !this.chosen) return;
    this.#whole.checked = !this.#whole.checked;
    this.#view.wholeChanged();
  }

  setActive(active) {
    this.element.classList.toggle("is-active", active);
    this.#draw?.setAttribute("aria-pressed", String(active));
  }

  setBoxes(boxes) {
    const focused = [...(this.#boxes?.children ?? [])].findIndex((item) => item.contains(document.activeElement));
    this.#boxes?.replaceChildren(
      ...boxes.map((box, index) =>
        el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              class: "button button-link small",
              "aria-label": fill(this.#messages.remove_box, { n: index + 1, attribute: this.text }),
              onclick: () => this.#view.removeBox(box.id),
            },
            fill(this.#messages.remove, { n: index + 1 }),
          ),
        ),
      ),
    );
    // keep the focus for removing one box after another
    if (focused >= 0) (this.#boxes.children[Math.min(focused, boxes.length - 1)]?.firstChild ?? this.#draw).focus();
  }
}
