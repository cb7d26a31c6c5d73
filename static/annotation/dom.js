/* Elements and texts. Text is only inserted as text, never as HTML. No style attributes: the Content-Security-Policy
   forbids them. */

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : value);
  }
  return element;
}

const build = (element, attributes, children) => {
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return set(element, attributes);
};

export const el = (name, attributes = {}, ...children) => build(document.createElement(name), attributes, children);

export const svg = (name, attributes = {}, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

/* "Kept here: {n}" with {n: 3} is "Kept here: 3". */
export function fill(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/* Focus the element, and scroll its whole field above the sticky bar at the bottom. */
export function focusInView(element) {
  element.focus({ preventScroll: true });
  showField(element);
}

export function showField(element) {
  (element.closest(".field, .choice") ?? element).scrollIntoView({ block: "nearest" });
}

/* The statement as a heading. Its parts are [kind, text]; attribute and identity are emphasised. */
export function statement(item, pageLanguage) {
  const heading = el("h1", { class: "statement", tabindex: "-1" });
  if (item.language && item.language !== pageLanguage) heading.lang = item.language;
  for (const [kind, text] of item.statement) heading.append(kind === "text" ? text : el("strong", {}, text));
  return heading;
}

export function errorMessage(id, text) {
  return el("p", { class: "errors", id, role: "alert" }, text);
}
