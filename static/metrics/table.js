// Filters a table while the user types. A form with a server side still searches every row on Enter; one without
// (data-filter-form) is shown only with scripts.
for (const form of document.querySelectorAll("[data-filter-form]")) {
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
}

const filter = (input) => {
  // Look it up each time: new scores replace the table.
  const table = document.getElementById(input.dataset.filter);
  if (!table) return;
  const query = input.value.trim().toLowerCase();
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    row.hidden = !row.dataset.text.includes(query);
    shown += row.hidden ? 0 : 1;
  }
  const count = document.querySelector(`[data-filter-count="${input.dataset.filter}"]`);
  if (count) {
    count.dataset.all ??= count.textContent;
    const some = count.dataset.some.replace("{shown}", shown).replace("{all}", table.tBodies[0].rows.length);
    count.textContent = query ? some : count.dataset.all;
  }
};

for (const input of document.querySelectorAll("[data-filter]")) {
  input.addEventListener("input", () => filter(input));
  document.addEventListener("htmx:afterSettle", () => filter(input));
}
