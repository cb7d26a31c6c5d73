// Parts of a page that ask for news by themselves (htmx) stand within [data-polled], together with words that
// are hidden while news comes. When none comes, the words say since when, and whatever would not ask again by
// itself is told to.
const AGAIN = 10_000; // milliseconds
const begun = new Date();
const heard = new WeakMap(); // a part: when it last had an answer

const partOf = (event) => event.target.closest?.("[data-polled]");

const failed = (event) => {
  const part = partOf(event);
  if (!part) return;
  const words = part.querySelector("[data-late]");
  // said once, not at every try: those who hear the page are not to hear it over and over
  if (words.hidden) {
    const since = (heard.get(part) ?? begun).toISOString();
    const time = words.querySelector("[data-since]");
    time.dateTime = since;
    time.textContent = `${since.slice(0, 10)} ${since.slice(11, 19)} UTC`;
    words.hidden = false;
  }
  const asking = event.target;
  setTimeout(() => asking.dispatchEvent(new Event("retry")), AGAIN);
};

const answered = (event) => {
  const part = partOf(event);
  if (!part || !event.detail.successful) return;
  heard.set(part, new Date());
  part.querySelector("[data-late]").hidden = true;
};

for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) document.addEventListener(name, failed);
document.addEventListener("htmx:afterRequest", answered);
