/* Starts the page at work. All of it happens while the page loads, so that no key is lost; only what was
   kept from before comes a moment later. */

import { Api } from "./api.js";
import { Clock } from "./clock.js";
import { Desk } from "./desk.js";
import { offer, prepare } from "./dialogs.js";
import { Journal } from "./journal.js";
import { listen } from "./keys.js";
import { Shelf } from "./prefetch.js";
import { RatingView } from "./rating.js";
import { Sender } from "./sender.js";
import { Status } from "./status.js";

const given = (id) => JSON.parse(document.getElementById(id).textContent);
const config = given("work-config");
const form = document.getElementById("rating");

/* What somebody has chosen before this module ran. */
function alreadyChosen() {
  const chosen = form.elements.value?.value;
  const justification = form.elements.justification?.value ?? "";
  return chosen || justification ? { value: chosen ? Number(chosen) : null, justification } : null;
}

/* `views`: the classes that show items of other kinds than ratings. */
export function start(views = {}) {
  config.lock = `visage-work-${config.desk}`;
  const journal = new Journal(config.lock);
  const api = new Api({ urls: config.urls, token: form.elements.csrfmiddlewaretoken.value, desk: config.desk });
  const shelf = new Shelf({ api, journal, work: given("work-items") });
  const sender = new Sender({ journal, api, shelf, lock: config.lock });
  const status = new Status(config);
  const clock = new Clock();
  const desk = new Desk({ config, views: { rating: RatingView, ...views }, journal, sender, shelf, clock, status });

  sender.addEventListener("state", (event) => status.show(event.detail));
  journal.addEventListener("memory", () => status.warn(config.messages.memory));
  /* Whoever was quicker than this module stays where they are: what it makes anew has the same names. */
  const at = document.activeElement?.id;
  desk.next({ draft: alreadyChosen() });
  if (at) document.getElementById(at)?.focus({ preventScroll: true });
  addEventListener("beforeunload", (event) => {
    if (!journal.durable && sender.state !== "saved") event.preventDefault();
  });
  /* Back from the browser's page cache: what is on the screen may have been answered since. */
  addEventListener("pageshow", (event) => event.persisted && location.reload());

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    desk.submit();
  });
  /* The second click of a double click is not meant for the next item. */
  form.querySelector("[data-send]").addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
  document.getElementById("stop").addEventListener("submit", async (event) => {
    if (sender.state === "saved") return;
    event.preventDefault();
    if (await desk.flush()) event.target.submit();
  });
  const { skip, last, help } = prepare({ desk, api, config, clock, journal });
  listen({
    send: () => desk.submit(),
    sees: (event) => desk.sees(event),
    answerable: () => desk.answerable,
    press: (event) => desk.press(event),
    skip,
    last,
    help,
  });
  offer("[data-open-keys]", help);

  journal.pending().then(async (entries) => {
    desk.remember(entries);
    await sender.flush();
    shelf.refill();
  });
}
