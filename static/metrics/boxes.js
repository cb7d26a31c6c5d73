// Ties the rows of an image's list to the boxes drawn in it: pointing at one brings out the other.
// Without it, the number in a row is a link that does the same (:target).
const mark = (key, on) => {
  for (const part of document.querySelectorAll(`[data-box="${key}"], [data-row="${key}"]`)) {
    part.classList.toggle("is-lit", on);
    part.closest(".frame")?.classList.toggle("has-lit", on);
  }
};

for (const part of document.querySelectorAll("[data-box], [data-row]")) {
  const key = part.dataset.box ?? part.dataset.row;
  part.addEventListener("pointerenter", () => mark(key, true));
  part.addEventListener("pointerleave", () => mark(key, false));
  part.addEventListener("focusin", () => mark(key, true));
  part.addEventListener("focusout", () => mark(key, false));
}

// A link to an image opens the image first.
const open = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const closed = target && target.closest("details:not([open])");
  if (!closed) return;
  closed.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", open);
open();
