// While a run is at work, asks for its numbers every two seconds. Where more of the page has changed (it
// paused, something failed, pictures were made), that part of the page is fetched and swapped in.
const EVERY = 2000;
const PICTURES_EVERY = 10_000;
const live = () => document.getElementById("live");
let swapped = Date.now();
let shown = "";

const swap = async () => {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("live");
  // Not under the hands of somebody who is in it: the next time will do.
  if (!fresh || live().contains(document.activeElement) || live().querySelector("details[open]")) return;
  live().replaceWith(document.adoptNode(fresh));
  swapped = Date.now();
  say();
};

const write = (told) => {
  for (const place of live().querySelectorAll("[data-told]")) {
    const text = told[place.dataset.told];
    if (text !== undefined && place.textContent !== text) place.textContent = text;
  }
  const bar = live().querySelector("[data-share]");
  bar.max = told.share.max || 1;
  bar.value = told.share.value;
};

const look = async () => {
  const address = live()?.dataset.progress;
  if (!address) return;
  if (document.visibilityState === "visible") {
    try {
      const answer = await fetch(address, { headers: { Accept: "application/json" } });
      if (answer.ok && !answer.redirected) {
        const told = await answer.json();
        write(told);
        const pictures = told.done !== shown && Date.now() - swapped > PICTURES_EVERY;
        if (told.mark !== live().dataset.mark || pictures) await swap();
        shown = told.done;
      }
    } catch {
      // The network may be back in two seconds.
    }
  }
  setTimeout(look, EVERY);
};

const say = () => {
  live()?.querySelector("[data-follows]")?.removeAttribute("hidden");
};

say();
if (live()?.dataset.progress) setTimeout(look, EVERY);
