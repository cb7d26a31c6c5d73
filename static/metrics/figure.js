// Makes figures interactive: replaces the server's image by the same specification drawn here, with tooltips and
// links. Vega (900 kB) is loaded when a figure scrolls into view. If anything fails, the image stays.
const OPTIONS = {
  actions: false,
  renderer: "svg",
  // The Content-Security-Policy forbids code from expressions and style elements.
  ast: true,
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true, sanitize: (text) => escapeHtml(text) },
  // The alternative text is the image's.
  config: { aria: false, mark: { aria: false } },
};

const escapeHtml = (text) =>
  String(text).replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);

// The URL if it is on this site, else "": data must not link anywhere else.
const sameOrigin = (link) => {
  if (typeof link !== "string" || !link) return "";
  const url = new URL(link, location.href);
  return url.origin === location.origin ? url.href : "";
};

const makeInteractive = async (figure) => {
  const image = figure.querySelector("img");
  try {
    const [answer] = await Promise.all([fetch(figure.dataset.figure), import("../js/vega.js")]);
    if (!answer.ok) return;
    const chart = document.createElement("div");
    chart.className = "figure-chart";
    chart.hidden = true;
    figure.append(chart);
    const { view } = await window.vegaEmbed(chart, await answer.json(), OPTIONS);
    view.addEventListener("click", (event, item) => {
      const link = sameOrigin(item?.datum?.link);
      if (link) location.assign(link);
    });
    view.addEventListener("pointermove", (event, item) =>
      chart.classList.toggle("is-link", sameOrigin(item?.datum?.link) !== ""),
    );
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", image.alt);
    chart.hidden = false;
    image.hidden = true;
    figure.dataset.alive = "";
  } catch {
    figure.querySelector(".figure-chart")?.remove();
  }
};

const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    observer.unobserve(entry.target);
    makeInteractive(entry.target);
  }
});

const observe = (part) => {
  for (const figure of part.querySelectorAll("[data-figure]:not([data-alive])")) observer.observe(figure);
};

// Figures that htmx loads, and those that fail to load.
const failed = (event) => {
  const slot = event.target.closest?.("[data-figure-slot]");
  if (!slot) return;
  slot.querySelector(".figure-loading").hidden = true;
  slot.querySelector(".figure-failed").hidden = false;
};
document.addEventListener("htmx:responseError", failed);
document.addEventListener("htmx:sendError", failed);
document.addEventListener("htmx:load", (event) => observe(event.target.parentElement ?? document));
document.addEventListener("click", (event) => {
  const slot = event.target.closest("[data-figure-retry]")?.closest("[data-figure-slot]");
  if (!slot) return;
  slot.querySelector(".figure-failed").hidden = true;
  slot.querySelector(".figure-loading").hidden = false;
  slot.dispatchEvent(new Event("retry"));
});
observe(document);
