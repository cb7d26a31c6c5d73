// The open image of a wall by keyboard: Escape closes it and returns to its thumbnail, the arrow keys go to the one
// before and after. Without scripts, its links do the same: the open image is the target of the address.
const panelOf = (id) => (id ? document.getElementById(id)?.closest(".panel") : null);
const open = () => panelOf(location.hash.slice(1));

// The address changes without a new step back in the history, and what it names has the focus.
const go = (link) => {
  location.replace(link.hash);
  document.getElementById(link.hash.slice(1)).focus();
};

// A browser gives no focus to what was not shown before it became the target.
const focusOpened = () => open()?.querySelector(`#${CSS.escape(location.hash.slice(1))}.image-page`)?.focus();
addEventListener("hashchange", focusOpened);
focusOpened();

document.addEventListener("click", (event) => {
  const link = event.target.closest(".panel header a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link);
});

document.addEventListener("keydown", (event) => {
  const panel = open();
  if (!panel || event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, select, textarea")) return;
  const forwards = document.documentElement.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
  const backwards = forwards === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
  const wanted = { Escape: "[data-close]", [forwards]: "[rel=next]", [backwards]: "[rel=prev]" }[event.key];
  // Arrow keys scroll a table that is wider than its place.
  if (!wanted || (wanted !== "[data-close]" && event.target.closest(".table-wrap"))) return;
  const link = panel.querySelector(`header ${wanted}`);
  if (!link) return;
  event.preventDefault();
  go(link);
});
