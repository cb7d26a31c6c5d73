// Asks before somebody leaves a page of the wizard with entries that are not saved.

const form = document.querySelector(".setup-bar")?.closest("form");

if (form) {
  let unsaved = Boolean(form.querySelector(":scope > [role=alert]")); // the server refused what it shows again
  form.addEventListener("input", () => { unsaved = true; });
  form.addEventListener("submit", () => { unsaved = false; });
  addEventListener("beforeunload", (event) => unsaved && event.preventDefault());
}
