/* The annotation page: shows one item at a time and passes answers to the journal. Independent of the kind of task. */

import { el, fill } from "../dom.js";
import { PaintGuard } from "./paint-guard.js";

/* If the page is still open after that, the navigation has failed. */
const LEAVING_MS = 25_000;

export class AnnotationPage {
  #config;
  #messages;
  #views;
  #journal;
  #sender;
  #queue;
  #clock;
  #status;
  #channel;
  #root = document.getElementById("item");
  #sendButton = document.querySelector("[data-send]");
  #discardButton = document.querySelector("[data-discard]");
  #paintGuard = new PaintGuard(this.#root);
  #view = null;
  #item = null;
  /* "answering"; "checking" and "feedback" for a practice item; "correcting" an earlier answer; "waiting" */
  #mode = "waiting";
  #leaving = false;
  #touched = false;

  /* `views`: {rating, image}, the classes that show an item. */
  constructor({ config, views, journal, sender, queue, clock, status }) {
    this.#config = config;
    this.#views = views;
    this.#messages = config.messages;
    this.#journal = journal;
    this.#sender = sender;
    this.#queue = queue;
    this.#clock = clock;
    this.#status = status;
    sender.addEventListener("acknowledged", (event) => this.#acknowledged(event.detail));
    sender.addEventListener("refused", (event) => this.#refused(event.detail));
    queue.addEventListener("filled", (event) => this.#filled(event.detail));
    this.#discardButton.addEventListener("click", () => this.#discardCorrection());
    this.#channel = globalThis.BroadcastChannel ? new BroadcastChannel(config.lock) : null;
    this.#channel?.addEventListener("message", (event) => this.#finishedInOtherTab(event.data));
  }

  get item() {
    return this.#item;
  }

  get canSkip() {
    return this.#mode === "answering";
  }

  /* Whether the event was meant for the item on the screen. */
  accepts(event) {
    return this.#paintGuard.accepts(event);
  }

  press(event) {
    if (this.#mode !== "answering" && this.#mode !== "correcting") return false;
    return this.#view.press(event);
  }

  /* Show the next item, or that it is still to come. `focus`: move the focus to it from wherever it is, since the
     annotator has just finished an item. */
  next({ draft = null, focus = false } = {}) {
    const item = this.#queue.current;
    if (!item) {
      this.#showWaiting();
      return;
    }
    this.#mode = "answering";
    const restored = draft ?? this.#journal.draft(item.client_key);
    this.#clock.begin(restored?.times);
    this.#show(item, restored);
    if (focus || !this.#focusIsElsewhere()) this.#view.heading.focus();
  }

  /* Whether the focus is on something other than the item, such as the menu. */
  #focusIsElsewhere() {
    const focused = document.activeElement;
    return focused !== null && focused !== document.body && !this.#root.closest("form").contains(focused);
  }

  /* Restore what is in the journal from before the page was loaded: unsent answers (`entries`), the draft of a
     correction, and the draft of this item. */
  restore(entries) {
    const unsent = new Set(entries.map((entry) => entry.client_key));
    for (const key of unsent) this.#queue.finish(key);
    const key = this.#item?.client_key;
    if (this.#touched || !["answering", "waiting"].includes(this.#mode)) return;
    const correction = this.#journal.correctionDraft();
    if (correction && !unsent.has(correction.client_key)) this.correct(correction);
    else if (key && (unsent.has(key) || this.#journal.draft(key))) this.next();
  }

  /* Show an earlier answer to correct it, or the draft of that correction. `judgements`: option id -> judgement. */
  correct({ item, judgements }) {
    const draft = this.#journal.draft(item.client_key);
    this.#mode = "correcting";
    this.#clock.begin(draft?.times);
    this.#show(item, draft ?? asDraft(item, judgements));
    this.#status.notice(this.#messages.correcting);
    this.#view.heading.focus();
  }

  /* Put the answer on the screen into the journal, and show the next item. */
  submit() {
    if (this.#mode === "feedback") {
      this.#queue.finish(this.#item.client_key);
      this.next({ focus: true });
      return;
    }
    if (this.#mode !== "answering" && this.#mode !== "correcting") return;
    const answers = this.#view.answers();
    if (!answers) return;
    const endpoint = this.#mode === "correcting" ? "corrections" : "answers";
    this.#store(endpoint, { answers, ...this.#clock.read(), language: this.#item.language });
  }

  #discardCorrection() {
    this.#journal.deleteDraft(this.#item.client_key);
    this.#status.clearNotice();
    this.next({ focus: true });
  }

  skip({ reason, note }) {
    if (this.canSkip) this.#store("skips", { reason, note });
  }

  /* Send all unsent answers; whether all are acknowledged. */
  async flush() {
    await this.#sender.retryNow();
    return this.#sender.state === "saved";
  }

  #store(endpoint, body) {
    const item = this.#item;
    const key = item.client_key;
    /* The write starts before the next item is shown, but the page does not wait for it. */
    const stored = this.#journal.add({ client_key: key, endpoint, body: { unit: item.unit, client_key: key, ...body }, item });
    this.#channel?.postMessage({ finished: key });
    this.#status.clearNotice();
    if (this.#sender.state === "saved") this.#status.show({ state: "sending", waiting: 1 });
    if (endpoint === "answers" && item.training) {
      this.#mode = "checking";
      this.#sendButton.setAttribute("aria-disabled", "true");
    } else {
      if (endpoint !== "corrections") this.#queue.finish(key);
      this.next({ focus: true });
    }
    /* A refused answer comes back with its draft; a refused correction has to be opened again. */
    if (endpoint === "corrections") stored.then(() => this.#journal.deleteDraft(key));
    stored.then(() => this.#sender.flush()).then(() => this.#queue.topUp());
  }

  #show(item, draft) {
    this.#view?.destroy();
    this.#item = item;
    this.#touched = draft !== null;
    const View = item.image ? this.#views.image : this.#views.rating;
    this.#view = new View(this.#root, { item, config: this.#config, draft, onchange: () => this.#saveDraft() });
    const correcting = this.#mode === "correcting";
    this.#sendButton.textContent = correcting ? this.#messages.save_correction : this.#messages.send;
    this.#sendButton.removeAttribute("aria-disabled");
    this.#sendButton.hidden = false;
    this.#discardButton.hidden = !correcting;
    this.#paintGuard.reset(item.client_key);
  }

  #saveDraft() {
    this.#touched = true;
    const draft = { ...this.#view.draft(), times: this.#clock.read() };
    /* The queue has the current item; the item of a correction is saved with its draft. */
    if (this.#mode === "correcting") draft.item = this.#item;
    else if (this.#mode !== "answering") return;
    this.#journal.saveDraft(this.#item.client_key, draft);
  }

  /* The queue is empty: the next items are on their way, or there are none. */
  async #showWaiting() {
    this.#mode = "waiting";
    this.#view?.destroy();
    this.#view = null;
    this.#item = null;
    const offline = ["offline", "login", "other_user"].includes(this.#sender.state);
    this.#root.replaceChildren(
      el("p", { class: "empty", "data-waiting": "" }, offline ? this.#messages.waiting_offline : this.#messages.waiting),
    );
    this.#sendButton.hidden = true;
    this.#discardButton.hidden = true;
    this.#paintGuard.reset(null);
    const finished = this.#queue.state !== "items" && !(await this.#journal.pending()).length;
    if (finished && this.#mode === "waiting" && !this.#leaving) {
      this.#leaving = true;
      location.assign(this.#config.urls.annotate); // the server redirects to a page that says why
      setTimeout(() => this.#navigationFailed(), LEAVING_MS);
    }
  }

  #navigationFailed() {
    this.#leaving = false;
    this.#queue.refill();
  }

  #filled(reply) {
    if (reply.state === "ok") {
      this.#status.progress(reply.data.progress.answered);
      this.#dropUnassigned(new Set(reply.data.held));
    }
    if (this.#mode === "waiting") this.next();
  }

  /* Drop the item on the screen if it is no longer assigned and not touched: it was answered just before this page
     was loaded, or its lease expired. */
  #dropUnassigned(assigned) {
    const key = this.#item?.client_key;
    if (!key || assigned.has(key) || this.#mode !== "answering" || this.#touched) return;
    this.#queue.finish(key);
    this.next();
  }

  #acknowledged({ entry, reply }) {
    if (reply.outcome === "repeat" && !entry.attempts) this.#status.notice(this.#messages.repeat);
    if (reply.outcome === "surplus") this.#status.notice(this.#messages.surplus);
    if (entry.door === "corrections") this.#status.notice(this.#messages.corrected);
    const shown = this.#item?.client_key === entry.client_key;
    if (shown && this.#mode === "checking") this.#showFeedback(reply);
    else if (this.#mode === "waiting") this.#queue.refill();
  }

  #refused({ entry, http, reply }) {
    const retry = entry.door === "answers" && http === 422;
    this.#status.notice(fill(retry ? this.#messages.refused : this.#messages.not_yours, { error: reply.error ?? http }));
    if (this.#mode === "checking" && this.#item.client_key === entry.client_key) {
      this.#mode = "answering";
      this.#sendButton.removeAttribute("aria-disabled");
      if (!retry) {
        this.#queue.finish(entry.client_key);
        this.next();
      }
    } else if (retry) {
      this.#queue.putBack(entry.item);
      if (this.#mode === "waiting") this.next();
    }
  }

  /* Show the feedback of a practice item. */
  #showFeedback({ correct, feedback }) {
    this.#mode = "feedback";
    const controls = "#item :is(input, textarea, button), [data-tools] button";
    for (const control of document.querySelectorAll(controls)) control.disabled = true;
    const verdict = correct === null || correct === undefined ? null : correct ? this.#messages.right : this.#messages.wrong;
    const card = el(
      "div",
      { class: "notice feedback", tabindex: "-1", "data-feedback": "" },
      verdict ? el("p", {}, el("strong", {}, verdict)) : null,
      feedback ? el("p", {}, feedback) : null,
    );
    this.#root.append(card);
    this.#sendButton.textContent = this.#messages.go_on;
    this.#sendButton.removeAttribute("aria-disabled");
    this.#paintGuard.reset(this.#item.client_key);
    card.focus();
    card.scrollIntoView({ block: "nearest" });
  }

  #finishedInOtherTab({ finished }) {
    const correcting = this.#mode === "correcting";
    const shown = (correcting || this.#mode === "answering") && this.#item.client_key === finished;
    this.#queue.finish(finished);
    if (!shown) return;
    if (correcting) this.#journal.deleteDraft(finished);
    this.#status.notice(this.#messages.elsewhere);
    this.next();
    this.#queue.refill();
  }
}

/* An earlier answer as a draft of the view. */
function asDraft(item, judgements) {
  if (!item.image) {
    const { value, justification } = judgements[item.options[0].id];
    return { value, justification };
  }
  const chosen = item.options.filter((option) => judgements[option.id].value === 1);
  return {
    selected: chosen.map((option) => option.id),
    whole: chosen.filter((option) => judgements[option.id].whole_image).map((option) => option.id),
    boxes: chosen.flatMap((option) =>
      judgements[option.id].boxes.map(([x0, y0, x1, y1], n) => ({ id: `${option.id}-${n}`, option: option.id, x0, y0, x1, y1 })),
    ),
  };
}
