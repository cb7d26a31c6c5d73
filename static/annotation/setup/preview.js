// Previews a wording as annotators will see it, while it is typed. The server renders the same on load.

const PLACEHOLDERS = /(\[attr\]|\[id\])/;
const fields = [...document.querySelectorAll("[data-wording]")];

const kindOf = (field) => field.dataset.wording.split("-")[0];
const typed = (field) => field.value.replace(/\s+/g, " ").trim();

function render(preview, wording) {
  const values = { "[attr]": preview.dataset.attribute, "[id]": preview.dataset.identity };
  const parts = wording.split(PLACEHOLDERS).filter(Boolean).map((part) => {
    if (!(part in values)) return part;
    const strong = document.createElement("strong");
    strong.textContent = values[part];
    return strong;
  });
  preview.querySelector("[data-statement]").replaceChildren(...parts);
}

// The program translates the default wording, but not a wording of the study's own.
function update(kind) {
  const ofKind = fields.filter((field) => kindOf(field) === kind);
  const english = ofKind.find((field) => field.dataset.wording === `${kind}-en`);
  const isDefault = !typed(english) || typed(english) === english.dataset.default;
  for (const field of ofKind) {
    const own = typed(field);
    const wording = own || (isDefault ? field.dataset.default : "");
    const preview = document.querySelector(`[data-preview="${field.dataset.wording}"]`);
    preview.hidden = !wording;
    render(preview, wording);
    // a note that the default wording says too
    const note = preview.querySelector("[data-repeats]");
    if (note) note.hidden = isDefault && (field === english || !own);
    const seen = own ? "own" : wording ? "usual" : "english";
    for (const words of document.querySelectorAll(`[data-seen="${field.dataset.wording}"]`)) {
      words.hidden = words.dataset.is !== seen;
    }
  }
}

for (const field of fields) field.addEventListener("input", () => update(kindOf(field)));
