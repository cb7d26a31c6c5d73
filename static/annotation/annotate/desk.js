/* The desk: one item on the screen, the next ones at hand, answers on their way. Knows no kind of task. */

import { el, fill } from "./dom.js";
import { Sight } from "./sight.js";

/* Whoever is still here then did not get away. */
const LEAVING_MS = 25_000;

export class Desk {
  #config;
  #words;
  #views;
  #journal;
  #sender;
  #shelf;
  #clock;
  #status;
  #channel;
  #root = document.getElementById("item");
  #send = document.querySelector("[data-send]");
  #leave = document.querySelector("[data-leave]");
  #sight = new Sight(this.#root);
  #view = null;
  #item = null;
  /* "answering"; "checking" and "feedback" for a practice item; "correcting" an earlier answer; "waiting" */
  #mode = "waiting";
  #left = false;
  #touched = false;

  /* `views`: {rating, image}, the classes that show an item. */
  constructor({ config, views, journal, sender, shelf, clock, status }) {
    this.#config = config;
    this.#views = views;
    this.#words = config.messages;
    this.#journal = journal;
    this.#sender = sender;
    this.#shelf = shelf;
    this.#clock = clock;
    this.#status = status;
    sender.addEventListener("acknowledged", (event) => this.#acknowledged(event.detail));
    sender.addEventListener("refused", (event) => this.#refused(event.detail));
    shelf.addEventListener("filled", (event) => this.#filled(event.detail));
    this.#leave.addEventListener("click", () => this.#leaveAsItWas());
    this.#channel = globalThis.BroadcastChannel ? new BroadcastChannel(config.lock) : null;
    this.#channel?.addEventListener("message", (event) => this.#finishedElsewhere(event.data));
  }

  get item() {
    return this.#item;
  }

  get answerable() {
    return this.#mode === "feedback" || (this.#view?.answerable ?? false);
  }

  get canSkip() {
    return this.#mode === "answering";
  }

  /* Was this meant for what is on the screen? */
  sees(event) {
    return this.#sight.of(event);
  }

  press(event) {
    if (this.#mode !== "answering" && this.#mode !== "correcting") return false;
    return this.#view.press(event);
  }

  /* The next item, or what there is instead of one. `asked`: somebody has just done what brings it, so that
     the focus goes to it from wherever it is. */
  next({ draft = null, asked = false } = {}) {
    const item = this.#shelf.current;
    if (!item) {
      this.#wait();
      return;
    }
    this.#mode = "answering";
    const kept = draft ?? this.#journal.draft(item.client_key);
    this.#clock.begin(kept?.times);
    this.#show(item, kept);
    if (asked || !this.#elsewhere()) this.#view.heading.focus();
  }

  /* Is somebody at something other than the item: at the menu, at the help lines? */
  #elsewhere() {
    const at = document.activeElement;
    return at !== null && at !== document.body && !this.#root.closest("form").contains(at);
  }

  /* What was kept from before the page was loaded: answers under way, a correction that was begun, and the
     draft of this item. */
  remember(entries) {
    const waiting = new Set(entries.map((entry) => entry.client_key));
    for (const key of waiting) this.#shelf.finish(key);
    const key = this.#item?.client_key;
    if (this.#touched || !["answering", "waiting"].includes(this.#mode)) return;
    const begun = this.#journal.correction();
    if (begun && !waiting.has(begun.client_key)) this.correct(begun);
    else if (key && (waiting.has(key) || this.#journal.draft(key))) this.next();
  }

  /* An earlier answer, to be changed. `said`: option id -> what was said of it. A correction that was begun
     before goes on where it was left. */
  correct({ item, said }) {
    const kept = this.#journal.draft(item.client_key);
    this.#mode = "correcting";
    this.#clock.begin(kept?.times);
    this.#show(item, kept ?? asDraft(item, said));
    this.#status.notice(this.#words.correcting);
    this.#view.heading.focus();
  }

  /* The answer on the screen goes to the journal, and the next item comes at once. */
  submit() {
    if (this.#mode === "feedback") {
      this.#shelf.finish(this.#item.client_key);
      this.next({ asked: true });
      return;
    }
    if (this.#mode !== "answering" && this.#mode !== "correcting") return;
    const answers = this.#view.answers();
    if (!answers) return;
    const door = this.#mode === "correcting" ? "corrections" : "answers";
    this.#hand(door, { answers, ...this.#clock.read(), language: this.#item.language });
  }

  #leaveAsItWas() {
    this.#journal.dropDraft(this.#item.client_key);
    this.#status.quiet();
    this.next({ asked: true });
  }

  skip({ reason, note }) {
    if (this.canSkip) this.#hand("skips", { reason, note });
  }

  /* Send what waits; true once all of it is acknowledged. */
  async flush() {
    await this.#sender.hurry();
    return this.#sender.state === "saved";
  }

  #hand(door, body) {
    const item = this.#item;
    const key = item.client_key;
    /* The write has begun before the next item is shown, and is not waited for. */
    const kept = this.#journal.add({ client_key: key, door, body: { unit: item.unit, client_key: key, ...body }, item });
    this.#channel?.postMessage({ finished: key });
    this.#status.quiet();
    if (this.#sender.state === "saved") this.#status.show({ state: "sending", waiting: 1 });
    if (door === "answers" && item.training) {
      this.#mode = "checking";
      this.#send.setAttribute("aria-disabled", "true");
    } else {
      if (door !== "corrections") this.#shelf.finish(key);
      this.next({ asked: true });
    }
    /* An answer that is refused comes back with its draft; a correction that is, is opened anew. */
    if (door === "corrections") kept.then(() => this.#journal.dropDraft(key));
    kept.then(() => this.#sender.flush()).then(() => this.#shelf.topUp());
  }

  #show(item, draft) {
    this.#view?.destroy();
    this.#item = item;
    this.#touched = draft !== null;
    const View = item.image ? this.#views.image : this.#views.rating;
    this.#view = new View(this.#root, { item, config: this.#config, draft, onchange: () => this.#keepDraft() });
    const correcting = this.#mode === "correcting";
    this.#send.textContent = correcting ? this.#words.save_correction : this.#words.send;
    this.#send.removeAttribute("aria-disabled");
    this.#send.hidden = false;
    this.#leave.hidden = !correcting;
    this.#sight.change(item.client_key);
  }

  #keepDraft() {
    this.#touched = true;
    const draft = { ...this.#view.draft(), times: this.#clock.read() };
    /* The shelf has the item in hand; that of a correction is kept with it. */
    if (this.#mode === "correcting") draft.item = this.#item;
    else if (this.#mode !== "answering") return;
    this.#journal.keepDraft(this.#item.client_key, draft);
  }

  /* Nothing is at hand: the next items are on their way, or there are none. */
  async #wait() {
    this.#mode = "waiting";
    this.#view?.destroy();
    this.#view = null;
    this.#item = null;
    const lost = ["offline", "login", "stranger"].includes(this.#sender.state);
    this.#root.replaceChildren(
      el("p", { class: "empty", "data-waiting": "" }, lost ? this.#words.waiting_offline : this.#words.waiting),
    );
    this.#send.hidden = true;
    this.#leave.hidden = true;
    this.#sight.change(null);
    const over = this.#shelf.state !== "items" && !(await this.#journal.pending()).length;
    if (over && this.#mode === "waiting" && !this.#left) {
      this.#left = true;
      location.assign(this.#config.urls.annotate); // the server has a page that says why
      setTimeout(() => this.#stillHere(), LEAVING_MS);
    }
  }

  /* The network took the way out. */
  #stillHere() {
    this.#left = false;
    this.#shelf.refill();
  }

  #filled(reply) {
    if (reply.state === "ok") {
      this.#status.progress(reply.data.progress.answered);
      this.#leaveBehind(new Set(reply.data.held));
    }
    if (this.#mode === "waiting") this.next();
  }

  /* An item that is no longer in this annotator's hands and that they have not begun: answered a moment
     before this page was loaded, or given back because it lay too long. */
  #leaveBehind(held) {
    const key = this.#item?.client_key;
    if (!key || held.has(key) || this.#mode !== "answering" || this.#touched) return;
    this.#shelf.finish(key);
    this.next();
  }

  #acknowledged({ entry, reply }) {
    if (reply.outcome === "repeat" && !entry.attempts) this.#status.notice(this.#words.repeat);
    if (reply.outcome === "surplus") this.#status.notice(this.#words.surplus);
    if (entry.door === "corrections") this.#status.notice(this.#words.corrected);
    const here = this.#item?.client_key === entry.client_key;
    if (here && this.#mode === "checking") this.#feedback(reply);
    else if (this.#mode === "waiting") this.#shelf.refill();
  }

  #refused({ entry, http, reply }) {
    const unsent = entry.door === "answers" && http === 422;
    this.#status.notice(fill(unsent ? this.#words.refused : this.#words.not_yours, { error: reply.error ?? http }));
    if (this.#mode === "checking" && this.#item.client_key === entry.client_key) {
      this.#mode = "answering";
      this.#send.removeAttribute("aria-disabled");
      if (!unsent) {
        this.#shelf.finish(entry.client_key);
        this.next();
      }
    } else if (unsent) {
      this.#shelf.putBack(entry.item);
      if (this.#mode === "waiting") this.next();
    }
  }

  /* What a practice item has to say before it goes on. */
  #feedback({ correct, feedback }) {
    this.#mode = "feedback";
    for (const control of this.#root.querySelectorAll("input, textarea, button")) control.disabled = true;
    const verdict = correct === null || correct === undefined ? null : correct ? this.#words.right : this.#words.wrong;
    const card = el(
      "div",
      { class: "notice feedback", tabindex: "-1", "data-feedback": "" },
      verdict ? el("p", {}, el("strong", {}, verdict)) : null,
      feedback ? el("p", {}, feedback) : null,
    );
    this.#root.append(card);
    this.#send.textContent = this.#words.go_on;
    this.#send.removeAttribute("aria-disabled");
    this.#sight.change(this.#item.client_key);
    card.focus();
    card.scrollIntoView({ block: "nearest" });
  }

  #finishedElsewhere({ finished }) {
    const correcting = this.#mode === "correcting";
    const here = (correcting || this.#mode === "answering") && this.#item.client_key === finished;
    this.#shelf.finish(finished);
    if (!here) return;
    if (correcting) this.#journal.dropDraft(finished);
    this.#status.notice(this.#words.elsewhere);
    this.next();
    this.#shelf.refill();
  }
}

/* An earlier answer in the form in which views keep drafts. */
function asDraft(item, said) {
  if (!item.image) {
    const { value, justification } = said[item.options[0].id];
    return { value, justification };
  }
  const chosen = item.options.filter((option) => said[option.id].value === 1);
  return {
    selected: chosen.map((option) => option.id),
    whole: chosen.filter((option) => said[option.id].whole_image).map((option) => option.id),
    boxes: chosen.flatMap((option) =>
      said[option.id].boxes.map(([x0, y0, x1, y1], n) => ({ id: `${option.id}-${n}`, option: option.id, x0, y0, x1, y1 })),
    ),
  };
}
