/* One page of a depiction task: the image with its boxes, and the options in this annotator's order. A chosen
   attribute needs a box, or must be visible in the image as a whole; none of the above excludes the rest. */

import { BoxEditor } from "../boxes.js";
import { el, errorMessage, fill, focusInView, statement } from "../dom.js";
import { digit, latinKey } from "./keys.js";
import { OptionRow } from "./option-row.js";

export class DepictionView {
  #item;
  #messages;
  #rows;
  #editor;
  #list;
  #error = null;
  #active = null;
  #onchange;

  /* `draft`: {selected: [ids], whole: [ids], boxes: [{id, option, x0, y0, x1, y1}]} or null. */
  constructor(root, { item, config, draft, onchange }) {
    this.#item = item;
    this.#messages = config.messages;
    this.#onchange = onchange;
    this.heading = statement(item, config.language);
    const board = el("div", { class: "board", "data-canvas": "" });
    this.#rows = item.options.map((option, index) => {
      const key = option.none ? 0 : index < 9 ? index + 1 : null;
      return new OptionRow({ option, key, messages: this.#messages, view: this });
    });
    this.#list = el("fieldset", { class: "options" }, el("legend", { class: "visually-hidden" }, this.#messages.options));
    this.#list.append(...this.#rows.map((row) => row.element));
    const words = this.#messages;
    const ask = el(
      "div",
      { class: "ask" },
      this.heading,
      item.training ? el("p", { class: "badge" }, words.practice) : null,
      config.notes[item.kind] ? el("p", { class: "item-note" }, config.notes[item.kind]) : null,
      item.pages > 1 ? el("p", { class: "small muted" }, fill(words.page, item)) : null,
    );
    root.replaceChildren(el("div", { class: "depiction" }, ask, board, this.#list));
    root.oninput = null;
    this.#show(board, config, draft);
  }

  #show(board, config, draft) {
    const { url, width, height } = this.#item.image;
    if (!url) {
      board.replaceChildren(el("p", { class: "empty" }, this.#messages.image_missing));
      return;
    }
    this.#editor = new BoxEditor(board, {
      src: url,
      width,
      height,
      alt: this.#messages.image,
      boxes: draft?.boxes ?? [],
      extra: { selected: draft?.selected ?? [], whole: draft?.whole ?? [] },
      options: this.#rows.filter((row) => !row.none).map((row) => ({ id: row.id, label: row.text, number: row.position })),
      blurred: config.blurred,
      messages: config.box_editor,
      tools: document.querySelector("[data-tools]"),
      onchange: (boxes, reason) => this.#changedTo(reason),
      onhover: (option) => this.#mark(option),
    });
    this.#syncRows();
    const last = this.#rows.findLast((row) => row.chosen && !row.none);
    if (last) this.activate(last);
  }

  draft() {
    return { ...this.#choices(), boxes: this.#editor?.allBoxes() ?? [] };
  }

  #choices() {
    return {
      selected: this.#rows.filter((row) => row.chosen).map((row) => row.id),
      whole: this.#rows.filter((row) => row.whole).map((row) => row.id),
    };
  }

  /* A row was chosen or cleared. Clearing an attribute removes its boxes; undo restores them. */
  toggled(row) {
    const cleared = row.chosen ? this.#rows.filter((one) => one.chosen && one !== row && (one.none || row.none)) : [row];
    for (const other of cleared) {
      other.choose(false);
      other.setWhole(false);
    }
    this.#commit(cleared);
    this.activate(row);
  }

  /* Add an undo step: the current choices, without the boxes of the rows `cleared`. */
  #commit(cleared = []) {
    if (!this.#editor) return this.#changedDraft();
    const removed = cleared.flatMap((row) => this.#editor.boxesOf(row.id));
    this.#editor.commit(this.#choices(), removed.map((box) => box.id));
  }

  /* Draw boxes for this attribute from now on. */
  activate(row) {
    if (row.none || !row.chosen) return;
    this.#active = row;
    for (const other of this.#rows) other.setActive(other === row);
    this.#editor?.setActive(row.id, row.text, row.position);
    this.#scrollTo(row);
  }

  /* Where the options scroll by themselves, beside the image, scroll to this one. The page stays where it is. */
  #scrollTo({ element }) {
    const list = this.#list.getBoundingClientRect();
    const { top, bottom } = element.getBoundingClientRect();
    this.#list.scrollTop += Math.min(top - list.top, 0) || Math.max(Math.min(bottom - list.bottom, top - list.top), 0);
  }

  /* Draw boxes for this attribute, and show the image to draw on. */
  draw(row) {
    this.activate(row);
    this.#editor?.bringIntoView();
  }

  #activateNext() {
    const chosen = this.#rows.filter((row) => row.chosen && !row.none);
    const next = chosen[(chosen.indexOf(this.#active) + 1) % chosen.length];
    if (next) {
      this.activate(next);
    } else {
      this.#active?.setActive(false);
      this.#active = null;
      this.#editor?.setActive(null);
    }
  }

  /* Pointing at an option highlights its boxes, and pointing at a box its option. */
  highlight(row) {
    this.#editor?.highlight(row?.id ?? null);
  }

  #mark(option) {
    for (const row of this.#rows) row.element.classList.toggle("is-highlighted", row.id === option);
  }

  removeBox(id) {
    this.#editor.remove(id);
  }

  wholeChanged() {
    this.#commit();
  }

  /* Returns text for screen readers: which options are chosen after undo or redo. */
  #changedTo(reason) {
    this.#syncRows();
    if (this.#active ? !this.#active.chosen : this.#rows.some((row) => row.chosen && !row.none)) this.#activateNext();
    this.#changedDraft();
    if (reason !== "undo" && reason !== "redo") return "";
    const names = this.#rows.filter((row) => row.chosen).map((row) => row.text);
    return names.length ? fill(this.#messages.chosen_now, { names: names.join(", ") }) : this.#messages.nothing_chosen;
  }

  /* Make the rows show the editor's state. */
  #syncRows() {
    const { selected, whole } = this.#editor.extra;
    for (const row of this.#rows) {
      row.choose(selected.includes(row.id));
      row.setWhole(whole.includes(row.id));
      row.setBoxes(this.#editor.boxesOf(row.id));
    }
  }

  #changedDraft() {
    this.#error?.remove();
    this.#onchange();
  }

  /* The message why the image cannot be seen; null if it can. */
  #notVisible() {
    if (!this.#editor) return this.#messages.image_missing;
    if (this.#editor.concealed) return this.#messages.image_blurred;
    return this.#editor.loaded ? null : this.#messages.image_coming;
  }

  answers() {
    const problem = this.#notVisible();
    if (problem) {
      this.fail(problem);
      return null;
    }
    if (!this.#rows.some((row) => row.chosen)) {
      this.fail(this.#messages.choose_option);
      return null;
    }
    const unsupported = this.#rows.find(
      (row) => row.chosen && !row.none && !row.whole && !this.#editor?.boxesOf(row.id).length,
    );
    if (unsupported) {
      this.activate(unsupported);
      this.fail(fill(this.#messages.needs_box, { attribute: unsupported.text }), unsupported);
      return null;
    }
    return this.#rows.map((row) => ({
      option: row.id,
      value: row.chosen ? 1 : 0,
      position: row.position,
      whole_image: row.chosen && row.whole,
      boxes: row.chosen ? this.#editor.boxesOf(row.id).map(({ x0, y0, x1, y1 }) => [x0, y0, x1, y1]) : [],
    }));
  }

  fail(text, row = null) {
    this.#error?.remove();
    this.#error = errorMessage("error-value", text);
    if (row) row.element.before(this.#error);
    else this.#list.prepend(this.#error);
    focusInView((row ?? this.#rows[0]).input);
  }

  press(event) {
    const key = latinKey(event);
    if (event.ctrlKey || event.metaKey) return this.#editor?.handleKey(event) ?? false;
    const row = this.#rows.find((one) => one.key === digit(event));
    if (row) {
      row.choose(!row.chosen);
      this.toggled(row);
      row.input.focus({ preventScroll: true });
      this.#scrollTo(row);
      return true;
    }
    if (event.shiftKey && /^[a-z]$/i.test(key)) return false;
    if (key === "a") return this.#handled(() => this.#activateNext());
    if (key === "w") return this.#handled(() => this.#active?.toggleWhole());
    return this.#editor?.handleKey(event) ?? false;
  }

  #handled(action) {
    action();
    return true;
  }

  destroy() {
    this.#editor?.destroy();
  }
}
