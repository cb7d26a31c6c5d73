// Buttons that copy a URL. Without this module the URL can still be selected by hand.

const status = document.querySelector("[data-copy-status]");

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      // Without a secure connection there is no clipboard API, but the text is selected.
      document.execCommand("copy");
    }
    status.textContent = button.dataset.copied;
    const label = button.firstChild;
    const original = label.textContent;
    label.textContent = button.dataset.copied;
    setTimeout(() => { label.textContent = original; }, 1500);
  });
}
