/* The page's status (saved, sending, offline), notices and progress. */

import { fill } from "../dom.js";

export class Status {
  #messages;
  #total;
  #text = document.querySelector("[data-state-text]");
  #box = document.querySelector("[data-state]");
  #login = document.querySelector("[data-log-in]");
  #announcer = document.querySelector("[data-announce]");
  #notice = document.querySelector("[data-notice]");
  #bar = document.querySelector(".annotate-progress progress");
  #progress = document.querySelector("[data-progress]");
  #lastState = "saved";

  constructor({ messages, total }) {
    this.#messages = messages;
    this.#total = total;
  }

  /* `state`: the sender's; `waiting`: the number of answers not sent yet. */
  show({ state, waiting }) {
    this.#box.dataset.state = state;
    this.#text.textContent = fill(this.#messages[state], { n: waiting });
    const trouble = state !== "saved" && state !== "sending";
    this.#login.hidden = state !== "login" && state !== "other_user";
    /* Screen readers announce only changes between trouble and normal: "saved" after each answer would disturb. */
    if (trouble && state !== this.#lastState) this.announce(this.#text.textContent);
    if (!trouble && this.#lastState !== "saved") this.announce(this.#messages.back_online);
    if (state !== "sending") this.#lastState = state;
  }

  announce(text) {
    this.#announcer.textContent = text;
  }

  /* Show a notice above the item until the next answer. */
  notice(text) {
    this.#notice.textContent = text;
    this.#notice.hidden = false;
  }

  clearNotice() {
    this.#notice.hidden = true;
    this.#notice.textContent = "";
  }

  /* Show a warning that stays. */
  warn(text) {
    const warning = document.querySelector("[data-warning]");
    warning.textContent = text;
    warning.hidden = false;
  }

  progress(answered) {
    const shown = Math.min(answered, this.#total);
    const number = new Intl.NumberFormat(document.documentElement.lang);
    this.#bar.value = shown;
    this.#progress.textContent = fill(this.#messages.progress, {
      answered: number.format(shown),
      total: number.format(this.#total),
    });
  }
}
