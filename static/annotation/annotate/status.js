/* What the page says of itself: saved, sending, offline; notices; how far one is. */

import { fill } from "./dom.js";

export class Status {
  #words;
  #total;
  #text = document.querySelector("[data-state-text]");
  #box = document.querySelector("[data-state]");
  #login = document.querySelector("[data-log-in]");
  #announcer = document.querySelector("[data-announce]");
  #notice = document.querySelector("[data-notice]");
  #bar = document.querySelector(".annotate-progress progress");
  #progress = document.querySelector("[data-progress]");
  #was = "saved";

  constructor({ messages, total }) {
    this.#words = messages;
    this.#total = total;
  }

  /* `state` as the sender has it; `waiting` is the number of answers that are kept here. */
  show({ state, waiting }) {
    this.#box.dataset.state = state;
    this.#text.textContent = fill(this.#words[state], { n: waiting });
    const away = state !== "saved" && state !== "sending";
    this.#login.hidden = state !== "login" && state !== "stranger";
    /* Only a change for better or worse is said aloud: "saved" after each answer would only disturb. */
    if (away && state !== this.#was) this.say(this.#text.textContent);
    if (!away && this.#was !== "saved") this.say(this.#words.back_online);
    if (state !== "sending") this.#was = state;
  }

  say(text) {
    this.#announcer.textContent = text;
  }

  /* A sentence above the item, until the next answer. */
  notice(text) {
    this.#notice.textContent = text;
    this.#notice.hidden = false;
  }

  quiet() {
    this.#notice.hidden = true;
    this.#notice.textContent = "";
  }

  /* Stays: what is wrong with this browser. */
  warn(text) {
    const warning = document.querySelector("[data-warning]");
    warning.textContent = text;
    warning.hidden = false;
  }

  progress(done) {
    const answered = Math.min(done, this.#total);
    const number = new Intl.NumberFormat(document.documentElement.lang);
    this.#bar.value = answered;
    this.#progress.textContent = fill(this.#words.progress, {
      answered: number.format(answered),
      total: number.format(this.#total),
    });
  }
}
