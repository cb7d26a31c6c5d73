// For parts of a page that htmx polls ([data-polled]). If polling fails, shows the hidden note in the part
// ([data-late]) with the time of the last update, and retries.
const RETRY_MS = 10_000;
const loadedAt = new Date();
const updatedAt = new WeakMap(); // part -> time of its last successful response

const partOf = (event) => event.target.closest?.("[data-polled]");

const failed = (event) => {
  const part = partOf(event);
  if (!part) return;
  const note = part.querySelector("[data-late]");
  // Only the first failure shows the note: a screen reader would announce each change.
  if (note.hidden) {
    const since = (updatedAt.get(part) ?? loadedAt).toISOString();
    const time = note.querySelector("[data-since]");
    time.dateTime = since;
    time.textContent = `${since.slice(0, 10)} ${since.slice(11, 19)} UTC`;
    note.hidden = false;
  }
  const { target } = event;
  setTimeout(() => target.dispatchEvent(new Event("retry")), RETRY_MS);
};

const succeeded = (event) => {
  const part = partOf(event);
  if (!part || !event.detail.successful) return;
  updatedAt.set(part, new Date());
  part.querySelector("[data-late]").hidden = true;
};

// What a reader has opened stays open when its part is replaced.
const keepOpen = (event) => {
  const part = partOf(event);
  if (!part) return;
  const open = [...part.querySelectorAll("details[id][open]")].map((one) => one.id);
  document.addEventListener("htmx:afterSwap", () => {
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  }, { once: true });
};

document.addEventListener("htmx:beforeSwap", keepOpen);
for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) document.addEventListener(name, failed);
document.addEventListener("htmx:afterRequest", succeeded);
