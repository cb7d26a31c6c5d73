/* Starts the annotation page while it loads, so that no key is lost. Only what the journal stores comes a moment
   later. */

import { showField } from "../dom.js";
import { AnnotationPage } from "./annotation-page.js";
import { Api } from "./api.js";
import { Clock } from "./clock.js";
import { enableButton, setUpDialogs } from "./dialogs.js";
import { ItemQueue } from "./item-queue.js";
import { Journal } from "./journal.js";
import { listen } from "./keys.js";
import { RatingView } from "./rating.js";
import { Sender } from "./sender.js";
import { Status } from "./status.js";

const readJson = (id) => JSON.parse(document.getElementById(id).textContent);
const config = readJson("annotate-config");
const form = document.getElementById("rating");

/* The annotator's choices before this module ran. */
function alreadyChosen() {
  const chosen = form.elements.value?.value;
  const justification = form.elements.justification?.value ?? "";
  return chosen || justification ? { value: chosen ? Number(chosen) : null, justification } : null;
}

/* `views`: the classes that show items of other kinds than ratings. `makeApi` and `journalName`: another way to the
   server, and where answers wait for it (static/annotation/try.js). */
export function start(views = {}, { makeApi = (options) => new Api(options), journalName } = {}) {
  /* Also the name of the browser's database: it must not change. */
  config.lock = `visage-work-${config.enrolment}`;
  const journal = new Journal(journalName === undefined ? config.lock : journalName);
  const assigned = readJson("annotate-items");
  const api = makeApi({ urls: config.urls, token: form.elements.csrfmiddlewaretoken.value, enrolment: config.enrolment, assigned });
  const queue = new ItemQueue({ api, journal, assigned });
  const sender = new Sender({ journal, api, queue, lock: config.lock });
  const status = new Status(config);
  const clock = new Clock();
  const page = new AnnotationPage({ config, views: { rating: RatingView, ...views }, journal, sender, queue, clock, status });

  sender.addEventListener("state", (event) => status.show(event.detail));
  journal.addEventListener("memory", () => status.warn(config.messages.memory));
  /* Keep the focus: the elements that this module creates have the same ids. */
  const focused = document.activeElement?.id;
  page.next({ draft: alreadyChosen() });
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  addEventListener("beforeunload", (event) => {
    if (!journal.durable && sender.state !== "saved") event.preventDefault();
  });
  /* Restored from the browser's back/forward cache: the item may have been answered since. */
  addEventListener("pageshow", (event) => event.persisted && location.reload());

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    page.submit();
  });
  /* A browser takes what is under the bar for visible. A press scrolls nothing: its release would be elsewhere. */
  document.getElementById("item").addEventListener("focusin", ({ target }) => {
    if (target.matches("input:focus-visible, button:focus-visible, textarea") && !target.closest(".board")) showField(target);
  });
  /* The second click of a double click is not meant for the next item. */
  form.querySelector("[data-send]").addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
  document.getElementById("stop").addEventListener("submit", async (event) => {
    if (sender.state === "saved") return;
    event.preventDefault();
    if (await page.flush()) event.target.submit();
  });
  const { skip, last, help } = setUpDialogs({ page, api, config, clock, journal });
  listen({
    send: () => page.submit(),
    accepts: (event) => page.accepts(event),
    press: (event) => page.press(event),
    skip,
    last,
    help,
  });
  enableButton("[data-open-keys]", help);

  journal.pending().then(async (entries) => {
    page.restore(entries);
    await sender.flush();
    queue.refill();
  });
}
