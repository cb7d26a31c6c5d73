// Buttons that copy an address. Without this module the address is there to be selected by hand.

const status = document.querySelector("[data-copy-status]");

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      // Without a secure connection there is no clipboard interface; the text is selected all the same.
      document.execCommand("copy");
    }
    status.textContent = button.dataset.copied;
    const words = button.firstChild;
    const before = words.textContent;
    words.textContent = button.dataset.copied;
    setTimeout(() => { words.textContent = before; }, 1500);
  });
}
