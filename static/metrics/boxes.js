// Links the rows of an image's list to its boxes: pointing at one highlights the other. Without scripts, the number
// in a row is a link that does the same (:target).
const highlight = (key, on) => {
  for (const part of document.querySelectorAll(`[data-box="${key}"], [data-row="${key}"]`)) {
    part.classList.toggle("is-highlighted", on);
    part.closest(".frame")?.classList.toggle("has-highlighted", on);
  }
};

for (const part of document.querySelectorAll("[data-box], [data-row]")) {
  const key = part.dataset.box ?? part.dataset.row;
  part.addEventListener("pointerenter", () => highlight(key, true));
  part.addEventListener("pointerleave", () => highlight(key, false));
  part.addEventListener("focusin", () => highlight(key, true));
  part.addEventListener("focusout", () => highlight(key, false));
}
