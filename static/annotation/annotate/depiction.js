/* One page of a depiction task: the image with its boxes, and the options in the order recorded for this
   annotator. A chosen attribute needs a box, or to be visible in the image as a whole; none of the above
   excludes the rest. */

import { BoxEditor } from "../boxes.js";
import { bringUp, el, failure, fill, statement } from "./dom.js";
import { digit, latin } from "./keys.js";
import { OptionRow } from "./option-row.js";

export class DepictionView {
  #item;
  #messages;
  #rows;
  #editor;
  #list;
  #error = null;
  #active = null;
  #changed;

  /* `draft`: {selected: [ids], whole: [ids], boxes: [{id, option, x0, y0, x1, y1}]} or null. */
  constructor(root, { item, config, draft, onchange }) {
    this.#item = item;
    this.#messages = config.messages;
    this.#changed = onchange;
    this.heading = statement(item, config.language);
    const board = el("div", { class: "board", "data-canvas": "" });
    this.#rows = item.options.map((option, index) => {
      const key = option.none ? 0 : index < 9 ? index + 1 : null;
      return new OptionRow({ option, key, messages: this.#messages, view: this });
    });
    this.#list = el("fieldset", { class: "options" }, el("legend", { class: "visually-hidden" }, this.#messages.options));
    this.#list.append(...this.#rows.map((row) => row.element));
    const words = this.#messages;
    root.replaceChildren(
      this.heading,
      item.training ? el("p", { class: "badge" }, words.practice) : "",
      el("p", { class: "item-note" }, config.notes[item.kind]),
      item.pages > 1 ? el("p", { class: "small muted" }, fill(words.page, item)) : "",
      el("div", { class: "depiction" }, board, this.#list),
    );
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
      noted: { selected: draft?.selected ?? [], whole: draft?.whole ?? [] },
      options: this.#rows.filter((row) => !row.none).map((row) => ({ id: row.id, label: row.text, number: row.position })),
      blurred: config.blurred,
      messages: config.board,
      onchange: (boxes, reason) => this.#changedTo(reason),
      onhover: (option) => this.#mark(option),
    });
    this.#follow();
    const last = this.#rows.findLast((row) => row.chosen && !row.none);
    if (last) this.activate(last);
  }

  get answerable() {
    return this.#rows.some((row) => row.chosen);
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

  /* A row was chosen or let go. Letting go of an attribute takes its boxes along; undo brings them back. */
  toggled(row) {
    const apart = row.chosen ? this.#rows.filter((one) => one.chosen && one !== row && (one.none || row.none)) : [row];
    for (const other of apart) {
      other.choose(false);
      other.setWhole(false);
    }
    this.#note(apart);
    this.activate(row);
  }

  /* One step of the history, which Ctrl+Z takes back: what is chosen now, without the boxes of rows `apart`. */
  #note(apart = []) {
    if (!this.#editor) return this.#fresh();
    const gone = apart.flatMap((row) => this.#editor.boxesOf(row.id));
    this.#editor.note(this.#choices(), gone.map((box) => box.id));
  }

  /* From now on, boxes are drawn for this attribute. */
  activate(row) {
    if (row.none || !row.chosen) return;
    this.#active = row;
    for (const other of this.#rows) other.setActive(other === row);
    this.#editor?.setActive(row.id, row.text, row.position);
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

  /* An option brings its boxes out, and a box its option. */
  highlight(row) {
    this.#editor?.highlight(row?.id ?? null);
  }

  #mark(option) {
    for (const row of this.#rows) row.element.classList.toggle("is-pointed", row.id === option);
  }

  removeBox(id) {
    this.#editor.remove(id);
  }

  wholeChanged() {
    this.#note();
  }

  /* The words are for those who cannot see which options a step back chose or let go. */
  #changedTo(reason) {
    this.#follow();
    if (this.#active ? !this.#active.chosen : this.#rows.some((row) => row.chosen && !row.none)) this.#activateNext();
    this.#fresh();
    if (reason !== "undo" && reason !== "redo") return "";
    const names = this.#rows.filter((row) => row.chosen).map((row) => row.text);
    return names.length ? fill(this.#messages.chosen_now, { names: names.join(", ") }) : this.#messages.nothing_chosen;
  }

  /* The rows show what the history has. */
  #follow() {
    const { selected, whole } = this.#editor.noted;
    for (const row of this.#rows) {
      row.choose(selected.includes(row.id));
      row.setWhole(whole.includes(row.id));
      row.setBoxes(this.#editor.boxesOf(row.id));
    }
  }

  #fresh() {
    this.#error?.remove();
    this.#changed();
  }

  /* What stands between the annotator and the image, in words; null once it can be seen. */
  #hidden() {
    if (!this.#editor) return this.#messages.image_missing;
    if (this.#editor.concealed) return this.#messages.image_blurred;
    return this.#editor.loaded ? null : this.#messages.image_coming;
  }

  answers() {
    const hidden = this.#hidden();
    if (hidden) {
      this.fail(hidden);
      return null;
    }
    if (!this.answerable) {
      this.fail(this.#messages.choose_option);
      return null;
    }
    const bare = this.#rows.find(
      (row) => row.chosen && !row.none && !row.whole && !this.#editor?.boxesOf(row.id).length,
    );
    if (bare) {
      this.activate(bare);
      this.fail(fill(this.#messages.needs_box, { attribute: bare.text }), bare);
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
    this.#error = failure("error-value", text);
    const at = typeof row === "object" && row ? row : null;
    if (at) at.element.before(this.#error);
    else this.#list.prepend(this.#error);
    bringUp((at ?? this.#rows[0]).input);
  }

  press(event) {
    const key = latin(event);
    if (event.ctrlKey || event.metaKey) return this.#editor?.handleKey(event) ?? false;
    const row = this.#rows.find((one) => one.key === digit(event));
    if (row) {
      row.choose(!row.chosen);
      this.toggled(row);
      row.input.focus({ preventScroll: true });
      return true;
    }
    if (event.shiftKey && /^[a-z]$/i.test(key)) return false;
    if (key === "a") return this.#quiet(() => this.#activateNext());
    if (key === "w") return this.#quiet(() => this.#active?.toggleWhole());
    return this.#editor?.handleKey(event) ?? false;
  }

  #quiet(action) {
    action();
    return true;
  }

  destroy() {
    this.#editor?.destroy();
  }
}
