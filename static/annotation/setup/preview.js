// The wording as annotators will see it, while it is being typed. The server draws the same on load.

const PLACES = /(\[attr\]|\[id\])/;
const fields = [...document.querySelectorAll("[data-wording]")];

const kindOf = (field) => field.dataset.wording.split("-")[0];
const typed = (field) => field.value.replace(/\s+/g, " ").trim();

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

// The usual wording is translated by the program; what somebody wrote instead of it is not.
function show(kind) {
  const ofKind = fields.filter((field) => kindOf(field) === kind);
  const english = ofKind.find((field) => field.dataset.wording === `${kind}-en`);
  const usual = !typed(english) || typed(english) === english.dataset.default;
  for (const field of ofKind) {
    const own = typed(field);
    const wording = own || (usual ? field.dataset.default : "");
    const preview = document.querySelector(`[data-preview="${field.dataset.wording}"]`);
    preview.hidden = !wording;
    draw(preview, wording);
    const seen = own ? "own" : wording ? "usual" : "english";
    for (const words of document.querySelectorAll(`[data-seen="${field.dataset.wording}"]`)) {
      words.hidden = words.dataset.is !== seen;
    }
  }
}

for (const field of fields) field.addEventListener("input", () => show(kindOf(field)));
