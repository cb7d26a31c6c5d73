/* One item of a rating task: a statement, labels with digits, and a reason if the label needs one. */

import { el, errorMessage, fill, focusInView, statement } from "../dom.js";
import { History } from "../history.js";
import { digit, latinKey } from "./keys.js";

export class RatingView {
  #item;
  #messages;
  #labels;
  #radios;
  #reason;
  #errors = { value: null, reason: null };
  #history;

  /* `draft`: {value, justification} or null. `onchange` is called after every change. */
  constructor(root, { item, config, draft, onchange }) {
    this.#item = item;
    this.#messages = config.messages;
    this.#labels = config.labels[item.kind];
    this.heading = statement(item, config.language);
    this.#radios = this.#labels.map((label, index) =>
      el("input", {
        type: "radio",
        name: "value",
        id: `value-${index + 1}`,
        value: label.value,
        "data-needs-reason": label.needs_reason,
        "aria-keyshortcuts": index + 1,
      }),
    );
    this.#reason = el("textarea", {
      id: "justification",
      name: "justification",
      rows: "3",
      maxlength: "2000",
      "aria-describedby": "reason-hint",
    });
    this.#fieldset = el(
      "fieldset",
      {},
      el("legend", {}, this.heading),
      item.training ? el("p", { class: "badge" }, this.#messages.practice) : null,
      config.notes[item.kind] ? el("p", { class: "item-note" }, config.notes[item.kind]) : null,
      el("div", { class: "choices" }, this.#labels.map((label, index) => this.#choice(label, index))),
    );
    this.#field = el(
      "div",
      { class: "field reason" },
      el("label", { for: "justification" }, this.#messages.why_unsure),
      this.#reason,
      el("p", { class: "hint", id: "reason-hint" }, this.#messages.why_hint),
    );
    root.replaceChildren(this.#fieldset, this.#field);
    if (draft) this.#restore(draft);
    this.#history = new History(this.#chosenIndex);
    root.oninput = () => {
      if (this.#chosenIndex !== this.#history.present) this.#history.commit(this.#chosenIndex);
      this.#clear();
      onchange();
    };
  }

  #fieldset;
  #field;

  #choice(label, index) {
    return el(
      "label",
      { class: "choice", for: `value-${index + 1}` },
      this.#radios[index],
      el(
        "span",
        { class: "choice-words" },
        el("span", { class: "choice-name" }, label.name),
        " ",
        el("span", { class: "choice-why" }, label.explanation),
      ),
      el("kbd", { "aria-hidden": "true" }, String(index + 1)),
    );
  }

  /* The index of the chosen label, or -1. */
  get #chosenIndex() {
    return this.#radios.findIndex((radio) => radio.checked);
  }

  get #chosen() {
    return this.#labels[this.#chosenIndex] ?? null;
  }

  draft() {
    return { value: this.#chosen?.value ?? null, justification: this.#reason.value };
  }

  #restore({ value, justification }) {
    this.#reason.value = justification ?? "";
    const index = this.#labels.findIndex((label) => label.value === value);
    if (index >= 0) this.#radios[index].checked = true;
  }

  /* The judgement of each option, or null after showing what is missing. */
  answers() {
    this.#clear();
    const label = this.#chosen;
    if (!label) {
      this.fail(this.#messages.choose);
      return null;
    }
    const justification = label.needs_reason ? this.#reason.value.trim() : "";
    if (label.needs_reason && !justification) {
      this.fail(fill(this.#messages.reason, { label: label.name }), "reason");
      return null;
    }
    const option = this.#item.options[0];
    return [{ option: option.id, value: label.value, position: option.position, justification }];
  }

  fail(text, field = "value") {
    this.#clear();
    if (field === "reason") {
      this.#errors.reason = errorMessage("error-justification", text);
      this.#field.append(this.#errors.reason);
      this.#reason.setAttribute("aria-invalid", "true");
      focusInView(this.#reason);
    } else {
      this.#errors.value = errorMessage("error-value", text);
      this.#fieldset.querySelector(".choices").before(this.#errors.value);
      this.#fieldset.setAttribute("aria-describedby", "error-value");
      focusInView(this.#radios.find((radio) => radio.checked) ?? this.#radios[0]);
    }
  }

  #clear() {
    this.#errors.value?.remove();
    this.#errors.reason?.remove();
    this.#reason.removeAttribute("aria-invalid");
    this.#fieldset.removeAttribute("aria-describedby");
  }

  press(event) {
    if (event.ctrlKey || event.metaKey) return this.#undoOrRedo(latinKey(event).toLowerCase(), event.shiftKey);
    const radio = this.#radios[digit(event) - 1];
    if (!radio) return false;
    radio.checked = true;
    radio.dispatchEvent(new Event("input", { bubbles: true }));
    focusInView(this.#chosen.needs_reason ? this.#reason : radio);
    return true;
  }

  /* Ctrl+Z undoes a choice, Ctrl+Shift+Z and Ctrl+Y redo it. */
  #undoOrRedo(key, shifted) {
    if (key !== "z" && (key !== "y" || shifted)) return false;
    if (!(key === "y" || shifted ? this.#history.redo() : this.#history.undo())) return true;
    const chosenIndex = this.#history.present;
    this.#radios.forEach((radio, index) => (radio.checked = index === chosenIndex));
    const radio = this.#radios[chosenIndex] ?? this.#radios[0];
    radio.dispatchEvent(new Event("input", { bubbles: true }));
    focusInView(radio);
    return true;
  }

  destroy() {}
}
