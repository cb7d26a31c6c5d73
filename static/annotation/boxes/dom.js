/* Creates elements without markup strings, and without style attributes, which the Content-Security-Policy forbids. */

const SVG = "http://www.w3.org/2000/svg";

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : value);
  }
  return element;
}

export function html(name, attributes = {}, ...children) {
  const element = set(document.createElement(name), attributes);
  element.append(...children);
  return element;
}

export function svg(name, attributes = {}, ...children) {
  const element = set(document.createElementNS(SVG, name), attributes);
  element.append(...children);
  return element;
}
