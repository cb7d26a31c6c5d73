// Polls the progress of a run every two seconds while it works. If more of the page has changed (the run paused,
// something failed, images were made), fetches that part of the page and replaces it.
const POLL_MS = 2000;
const IMAGES_MS = 10_000;
const live = () => document.getElementById("live");
let replacedAt = Date.now();
let shownDone = "";

const replace = async () => {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.getElementById("live");
  // Not while somebody uses it; the next poll tries again.
  if (!fresh || live().contains(document.activeElement) || live().querySelector("details[open]")) return;
  live().replaceWith(document.adoptNode(fresh));
  replacedAt = Date.now();
  showPollingNote();
};

const update = (progress) => {
  for (const element of live().querySelectorAll("[data-field]")) {
    const text = progress[element.dataset.field];
    if (text !== undefined && element.textContent !== text) element.textContent = text;
  }
  const bar = live().querySelector("[data-share]");
  bar.max = progress.share.max || 1;
  bar.value = progress.share.value;
};

const poll = async () => {
  const url = live()?.dataset.progress;
  if (!url) return;
  if (document.visibilityState === "visible") {
    try {
      const response = await fetch(url, { headers: { Accept: "application/json" } });
      if (response.ok && !response.redirected) {
        const progress = await response.json();
        update(progress);
        const newImages = progress.done !== shownDone && Date.now() - replacedAt > IMAGES_MS;
        if (progress.mark !== live().dataset.mark || newImages) await replace();
        shownDone = progress.done;
      }
    } catch {
      // The network may be back at the next poll.
    }
  }
  setTimeout(poll, POLL_MS);
};

const showPollingNote = () => {
  live()?.querySelector("[data-follows]")?.removeAttribute("hidden");
};

showPollingNote();
if (live()?.dataset.progress) setTimeout(poll, POLL_MS);
