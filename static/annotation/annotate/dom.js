/* Elements and texts. Text is only inserted as text, never as HTML. */

export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/* "Kept here: {n}" with {n: 3} is "Kept here: 3". */
export function fill(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/* Focus the element, and scroll its whole field above the sticky bar at the bottom. */
export function focusInView(element) {
  element.focus({ preventScroll: true });
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
