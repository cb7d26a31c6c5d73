// The wording as annotators will see it, while it is being typed. The server draws the same on load.

const PLACES = /(\[attr\]|\[id\])/;

function draw(preview, wording) {
  const named = { "[attr]": preview.dataset.attribute, "[id]": preview.dataset.identity };
  const parts = wording.split(PLACES).filter(Boolean).map((part) => {
    if (!(part in named)) return part;
    const strong = document.createElement("strong");
    strong.textContent = named[part];
    return strong;
  });
  preview.querySelector("[data-statement]").replaceChildren(...parts);
}

for (const field of document.querySelectorAll("[data-wording]")) {
  const preview = document.querySelector(`[data-preview="${field.dataset.wording}"]`);
  const fallback = field.dataset.default ?? "";
  field.addEventListener("input", () => {
    const wording = field.value.replace(/\s+/g, " ").trim() || fallback;
    preview.hidden = !wording;
    draw(preview, wording);
  });
}
