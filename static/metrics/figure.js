// Brings figures to life: the picture that the server drew gives way to the same specification drawn here,
// with tooltips and links. The drawing program (900 kB) is loaded when a figure comes into view. Whatever
// goes wrong, the picture stays.
const OPTIONS = {
  actions: false,
  renderer: "svg",
  // no code is made of expressions, no style element is put in: the Content-Security-Policy forbids both
  ast: true,
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true, sanitize: (text) => escaped(text) },
  // the words for those who do not see it are the picture's
  config: { aria: false, mark: { aria: false } },
};

const escaped = (text) =>
  String(text).replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);

// An address of ours, or none: data cannot lead anywhere else.
const within = (link) => {
  if (typeof link !== "string" || !link) return "";
  const url = new URL(link, location.href);
  return url.origin === location.origin ? url.href : "";
};

const enliven = async (figure) => {
  const picture = figure.querySelector("img");
  try {
    const [answer] = await Promise.all([fetch(figure.dataset.figure), import("../js/vega.js")]);
    if (!answer.ok) return;
    const chart = document.createElement("div");
    chart.className = "figure-chart";
    chart.hidden = true;
    figure.append(chart);
    const { view } = await window.vegaEmbed(chart, await answer.json(), OPTIONS);
    view.addEventListener("click", (event, item) => {
      const link = within(item?.datum?.link);
      if (link) location.assign(link);
    });
    view.addEventListener("pointermove", (event, item) =>
      chart.classList.toggle("is-link", within(item?.datum?.link) !== ""),
    );
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", picture.alt);
    chart.hidden = false;
    picture.hidden = true;
    figure.dataset.alive = "";
  } catch {
    figure.querySelector(".figure-chart")?.remove();
  }
};

const inSight = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    inSight.unobserve(entry.target);
    enliven(entry.target);
  }
});

const watch = (part) => {
  for (const figure of part.querySelectorAll("[data-figure]:not([data-alive])")) inSight.observe(figure);
};

// Figures that are fetched by themselves (htmx): when one has come, and when it has not.
const failed = (event) => {
  const slot = event.target.closest?.("[data-figure-slot]");
  if (!slot) return;
  slot.querySelector(".figure-loading").hidden = true;
  slot.querySelector(".figure-failed").hidden = false;
};
document.addEventListener("htmx:responseError", failed);
document.addEventListener("htmx:sendError", failed);
document.addEventListener("htmx:load", (event) => watch(event.target.parentElement ?? document));
document.addEventListener("click", (event) => {
  const slot = event.target.closest("[data-figure-retry]")?.closest("[data-figure-slot]");
  if (!slot) return;
  slot.querySelector(".figure-failed").hidden = true;
  slot.querySelector(".figure-loading").hidden = false;
  slot.dispatchEvent(new Event("retry"));
});
watch(document);
