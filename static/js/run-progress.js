// While a run is running, fetch its progress every two seconds. If more of the page has changed (the run was
// paused, a job failed, images were made), fetch that part of the page and replace it.
const EVERY = 2000;
const IMAGES_EVERY = 10_000;
const live = () => document.getElementById("live");
let replaced = Date.now();
let shown = "";

const replacePage = async () => {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.getElementById("live");
  // Not while somebody uses this part of the page; the next time will do.
  if (!fresh || live().contains(document.activeElement) || live().querySelector("details[open]")) return;
  live().replaceWith(document.adoptNode(fresh));
  replaced = Date.now();
  showNote();
};

const update = (progress) => {
  for (const element of live().querySelectorAll("[data-value]")) {
    const text = progress[element.dataset.value];
    if (text !== undefined && element.textContent !== text) element.textContent = text;
  }
  const bar = live().querySelector("[data-bar]");
  bar.max = progress.bar.max || 1;
  bar.value = progress.bar.value;
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
        const newImages = progress.done !== shown && Date.now() - replaced > IMAGES_EVERY;
        if (progress.version !== live().dataset.version || newImages) await replacePage();
        shown = progress.done;
      }
    } catch {
      // The network may be back in two seconds.
    }
  }
  setTimeout(poll, EVERY);
};

const showNote = () => {
  live()?.querySelector("[data-auto-update]")?.removeAttribute("hidden");
};

showNote();
if (live()?.dataset.progress) setTimeout(poll, EVERY);
