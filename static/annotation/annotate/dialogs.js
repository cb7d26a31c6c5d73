/* The dialogs: keys, skip, last answers, break. */

import { el, fill } from "../dom.js";

const byId = (id) => document.getElementById(id);

export function setUpDialogs({ page, api, config, clock, journal }) {
  for (const dialog of document.querySelectorAll("dialog")) {
    for (const button of dialog.querySelectorAll("[data-close]")) {
      button.addEventListener("click", () => dialog.close());
    }
  }
  const skip = () => openSkip(page, config.messages);
  const last = () => openLast({ page, api, config });
  const help = () => byId("keys").showModal();
  enableButton("[data-open-skip]", skip);
  enableButton("[data-open-last]", last);
  offerBreaks({ config, clock, journal });
  return { skip, last, help };
}

/* Buttons that need scripts are hidden until they work. */
export function enableButton(selector, action) {
  const button = document.querySelector(selector);
  button.hidden = false;
  button.addEventListener("click", action);
}

function openSkip(page, messages) {
  if (!page.canSkip) return;
  const dialog = byId("skip");
  const form = dialog.querySelector("form");
  const error = dialog.querySelector("[data-error]");
  const { item } = page;
  form.reset();
  error.hidden = true;
  form.onsubmit = (event) => {
    event.preventDefault();
    const reason = form.elements.reason.value;
    if (!reason) {
      error.textContent = messages.choose_reason;
      error.hidden = false;
      form.elements.reason[0].focus();
      return;
    }
    dialog.close();
    /* If the item was answered in another window meanwhile, the skip was not meant for the next one. */
    if (page.item === item) page.skip({ reason, note: form.elements.note.value.trim() });
  };
  dialog.showModal();
  form.elements.reason[0].focus();
}

async function openLast({ page, api, config }) {
  const { messages } = config;
  const dialog = byId("last");
  const list = dialog.querySelector("[data-list]");
  const empty = dialog.querySelector("[data-empty]");
  list.replaceChildren();
  empty.hidden = false;
  empty.textContent = messages.waiting;
  dialog.showModal();
  const reply = (await page.flush()) ? await api.get("last") : { state: "failed" };
  if (reply.state !== "ok") {
    empty.textContent = messages.last_offline;
    return;
  }
  const { answers } = reply.data;
  empty.hidden = answers.length > 0;
  empty.textContent = messages.no_answers;
  list.append(
    ...answers.map((answer) => {
      const change = () => {
        dialog.close();
        page.correct(answer);
      };
      const about = answer.item.statement.map(([, text]) => text).join("");
      const given = summary(answer, config.labels, messages);
      return el(
        "li",
        {},
        thumbnail(answer.item, config),
        el("p", {}, about),
        el("p", {}, el("strong", {}, given)),
        el(
          "button",
          { type: "button", class: "button button-quiet", "aria-label": `${messages.change}: ${about} ${given}`, onclick: change },
          messages.change,
        ),
      );
    }),
  );
  list.querySelector("button")?.focus();
}

/* The file of the item itself: the browser has it already, since it was just judged. None of a study that blurs its
   images. */
function thumbnail({ image }, { messages, blurred }) {
  return image?.url && !blurred ? el("img", { src: image.url, alt: messages.image, loading: "lazy", decoding: "async" }) : null;
}

function summary({ item, judgements }, labels, messages) {
  if (!item.image) {
    const { value, justification } = judgements[item.options[0].id];
    const name = labels[item.kind].find((label) => label.value === value)?.name ?? value;
    return justification ? `${name}: ${justification}` : name;
  }
  const chosen = item.options.filter((option) => judgements[option.id].value === 1);
  return chosen
    .map((option) => {
      if (option.none) return `${messages.none} (${named(item.options)})`;
      const boxes = judgements[option.id].boxes.length;
      return boxes ? `${option.text} (${fill(messages.boxes, { n: boxes })})` : option.text;
    })
    .join(", ");
}

const named = (options) => options.filter((option) => !option.none).map((option) => option.text).join(", ");

/* Offer a break after `break_after` minutes of work, also across reloads of the page. */
function offerBreaks({ config, clock, journal }) {
  if (!config.break_after) return;
  const dialog = byId("break");
  const saved = journal.draft("since-break");
  if (saved && Date.now() - saved.at < 5 * 60_000) clock.sinceBreak = saved.ms;
  const resetBreak = () => {
    clock.sinceBreak = 0;
    journal.saveDraft("since-break", { ms: 0 });
  };
  dialog.addEventListener("close", resetBreak);
  dialog.querySelector("[data-take-break]").addEventListener("click", () => {
    resetBreak();
    byId("stop").requestSubmit();
  });
  setInterval(() => {
    journal.saveDraft("since-break", { ms: clock.sinceBreak });
    if (clock.sinceBreak < config.break_after * 60_000 || document.querySelector("dialog[open]")) return;
    resetBreak();
    dialog.showModal();
  }, 10_000);
}
