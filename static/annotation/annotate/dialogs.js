/* The dialogs: keys, skipping with a reason, one's last answers, a break. */

import { el, fill } from "./dom.js";

const byId = (id) => document.getElementById(id);

export function prepare({ desk, api, config, clock, journal }) {
  for (const dialog of document.querySelectorAll("dialog")) {
    for (const closer of dialog.querySelectorAll("[data-close]")) {
      closer.addEventListener("click", () => dialog.close());
    }
  }
  const skip = () => openSkip(desk, config.messages);
  const last = () => openLast({ desk, api, words: config.messages, labels: config.labels });
  const help = () => byId("keys").showModal();
  offer("[data-open-skip]", skip);
  offer("[data-open-last]", last);
  offerBreaks({ config, clock, journal });
  return { skip, last, help };
}

/* The buttons are hidden without scripts; shown, they say that they work. */
export function offer(selector, action) {
  const button = document.querySelector(selector);
  button.hidden = false;
  button.addEventListener("click", action);
}

function openSkip(desk, words) {
  if (!desk.canSkip) return;
  const dialog = byId("skip");
  const form = dialog.querySelector("form");
  const error = dialog.querySelector("[data-error]");
  const { item } = desk;
  form.reset();
  error.hidden = true;
  form.onsubmit = (event) => {
    event.preventDefault();
    const reason = form.elements.reason.value;
    if (!reason) {
      error.textContent = words.choose_reason;
      error.hidden = false;
      form.elements.reason[0].focus();
      return;
    }
    dialog.close();
    /* Answered in another window while the dialog was open: what lies under it now was not meant. */
    if (desk.item === item) desk.skip({ reason, note: form.elements.note.value.trim() });
  };
  dialog.showModal();
  form.elements.reason[0].focus();
}

async function openLast({ desk, api, words, labels }) {
  const dialog = byId("last");
  const list = dialog.querySelector("[data-list]");
  const empty = dialog.querySelector("[data-empty]");
  list.replaceChildren();
  empty.hidden = false;
  empty.textContent = words.waiting;
  dialog.showModal();
  const reply = (await desk.flush()) ? await api.get("last") : { state: "lost" };
  if (reply.state !== "ok") {
    empty.textContent = words.last_offline;
    return;
  }
  const { answers } = reply.data;
  empty.hidden = answers.length > 0;
  empty.textContent = words.no_answers;
  list.append(
    ...answers.map((answer) => {
      const correct = () => {
        dialog.close();
        desk.correct(answer);
      };
      const about = answer.item.statement.map(([, text]) => text).join("");
      return el(
        "li",
        {},
        el("p", {}, about),
        el("p", {}, el("strong", {}, summary(answer, labels, words))),
        el("button", { type: "button", class: "button button-quiet", "aria-label": `${words.correct}: ${about}`, onclick: correct }, words.correct),
      );
    }),
  );
  list.querySelector("button")?.focus();
}

function summary({ item, said }, labels, words) {
  if (!item.image) {
    const { value, justification } = said[item.options[0].id];
    const name = labels[item.kind].find((label) => label.value === value)?.name ?? value;
    return justification ? `${name}: ${justification}` : name;
  }
  const chosen = item.options.filter((option) => said[option.id].value === 1);
  return chosen
    .map((option) => {
      const boxes = said[option.id].boxes.length;
      const name = option.none ? words.none : option.text;
      return boxes ? `${name} (${fill(words.boxes, { n: boxes })})` : name;
    })
    .join(", ");
}

/* A break is offered after so many minutes of work, also when the page was opened anew in between. */
function offerBreaks({ config, clock, journal }) {
  if (!config.break_after) return;
  const dialog = byId("break");
  const kept = journal.draft("since-break");
  if (kept && Date.now() - kept.at < 5 * 60_000) clock.sinceBreak = kept.ms;
  const rested = () => {
    clock.sinceBreak = 0;
    journal.keepDraft("since-break", { ms: 0 });
  };
  dialog.addEventListener("close", rested);
  dialog.querySelector("[data-take-break]").addEventListener("click", () => {
    rested();
    byId("stop").requestSubmit();
  });
  setInterval(() => {
    journal.keepDraft("since-break", { ms: clock.sinceBreak });
    if (clock.sinceBreak < config.break_after * 60_000 || document.querySelector("dialog[open]")) return;
    rested();
    dialog.showModal();
  }, 10_000);
}
