/* The image in its scrollable frame: its scale, its visible part, and the conversion of screen points to image
   points. Sizes are `width` and `height` attributes and panning is scrolling, so no style is ever set. A box can be
   started in the margin around the image.

   The stylesheet says how tall the frame may be (max-block-size). The whole image is seen in it, as large as it
   can be, unless the annotator wants it wide: then it is as large as the width allows, up to WIDE where the whole
   image is smaller; what is taller is scrolled. */

import { el, set, svg } from "../dom.js";

const MAX_FIT = 4; // a small image is not enlarged further
const WIDE = 768; // screen pixels: 60 % of a window of 1280
const LEAST_TALL = 200; // of a frame in a low window
const ZOOM_STEP = 1.25;
const MAX_ZOOM = 10;
const FIT = "visage-image-fit"; // where the browser remembers it

export class Frame {
  size = { width: 1, height: 1 };
  margin = 0; // around the image, in screen pixels
  zoom = 1;
  #fit = 1;
  #fits = { wide: 1, whole: 1 };
  #fitted = rememberedFit();
  #measured = "";
  #observer;
  #relayout = () => requestAnimationFrame(() => this.#resize());

  /* `labels`: {editor, helpId}, for screen readers; `resized` is called after every change of scale. */
  constructor(labels, resized) {
    this.resized = resized;
    this.image = el("img", { class: "boxes-image", draggable: "false", decoding: "sync" });
    this.layer = svg("svg", { class: "boxes-layer", role: "group", "aria-label": labels.editor });
    this.stage = el("div", { class: "boxes-stage" }, this.image, this.layer);
    this.view = el(
      "div",
      {
        class: "boxes-view",
        tabindex: "0",
        role: "application",
        "aria-label": labels.editor,
        "aria-describedby": labels.helpId,
      },
      this.stage,
    );
    // The view scrolls inside a frame of the fitted height; this gives the frame that height.
    this.sizer = svg("svg", { class: "boxes-sizer", "aria-hidden": "true", width: "1", height: "1" });
    this.element = el("div", { class: "boxes-frame" }, this.sizer, this.view);
    this.#observer = new ResizeObserver(this.#relayout);
    this.#observer.observe(this.element);
    addEventListener("resize", this.#relayout);
  }

  /* Screen pixels per image pixel. */
  get scale() {
    return this.#fit * this.zoom;
  }

  /* Whether the image is fitted to the window. */
  get fitted() {
    return this.#fitted;
  }

  /* Whether the whole image is smaller than the wide one. */
  get canFit() {
    return this.#fits.whole < this.#fits.wide;
  }

  get failed() {
    return this.image.complete && !this.loaded;
  }

  get loaded() {
    return this.image.complete && this.image.naturalWidth > 0;
  }

  show({ src, width, height, alt }) {
    this.size = { width, height };
    this.zoom = 1;
    set(this.layer, { viewBox: `0 0 ${width} ${height}` });
    set(this.image, { src: null }); // or the last image would be visible until this one loads
    set(this.image, { alt, src });
    this.#measure();
    this.#draw();
    this.view.scrollTo(0, 0);
  }

  /* A point of the screen (clientX, clientY) in image pixels; may lie outside the image. */
  toImage({ clientX, clientY }) {
    const seen = this.layer.getBoundingClientRect();
    return {
      x: ((clientX - seen.left) / seen.width) * this.size.width,
      y: ((clientY - seen.top) / seen.height) * this.size.height,
    };
  }

  /* Zoom to `zoom` times the fitted size. The image's `point` then lies at the screen's `at`; without them the
     middle of the view stays in the middle. */
  zoomTo(zoom, { point, at } = {}) {
    const centre = at ?? this.#centre();
    const kept = point ?? this.toImage(centre);
    this.zoom = Math.min(Math.max(zoom, 1), MAX_ZOOM);
    this.#draw();
    const seen = this.layer.getBoundingClientRect();
    this.view.scrollLeft += seen.left + kept.x * this.scale - centre.clientX;
    this.view.scrollTop += seen.top + kept.y * this.scale - centre.clientY;
  }

  /* Fit the image to the window, or let it be wide again. The browser remembers it for the next image. */
  fitToWindow(fitted) {
    this.#fitted = fitted;
    rememberFit(fitted);
    this.zoom = 1;
    this.#measure();
    this.#draw();
  }

  zoomIn(around) {
    this.zoomTo(this.zoom * ZOOM_STEP, around);
  }

  zoomOut(around) {
    this.zoomTo(this.zoom / ZOOM_STEP, around);
  }

  panBy(right, down) {
    this.view.scrollLeft += right;
    this.view.scrollTop += down;
  }

  /* Scroll the view, and the page, just enough to show an image point with some room around it. */
  keepInView(point) {
    const seen = this.layer.getBoundingClientRect();
    const view = this.view.getBoundingClientRect();
    const room = 24;
    const x = seen.left + point.x * this.scale;
    const y = seen.top + point.y * this.scale;
    const over = (value, low, high) => Math.min(value - low - room, 0) || Math.max(value - high + room, 0);
    this.panBy(over(x, view.left, view.right), over(y, view.top, view.bottom));
    // a bar at the bottom of the page may cover as much as the stylesheet says
    const covered = parseFloat(getComputedStyle(this.element).scrollMarginBottom) || 0;
    const after = this.layer.getBoundingClientRect().top + point.y * this.scale;
    const down = over(after, 0, document.documentElement.clientHeight - covered);
    if (down) scrollBy(0, down);
  }

  destroy() {
    this.#observer.disconnect();
    removeEventListener("resize", this.#relayout);
  }

  #centre() {
    const view = this.view.getBoundingClientRect();
    return { clientX: view.left + view.width / 2, clientY: view.top + view.height / 2 };
  }

  #resize() {
    if (this.#room().join() === this.#measured) return;
    this.#measure();
    this.#draw();
  }

  /* The frame's width, the height that it may have and the margin around the image, in screen pixels. */
  #room() {
    const { maxHeight } = getComputedStyle(this.element);
    const allowed = parseFloat(maxHeight) || document.documentElement.clientHeight * 0.75;
    this.margin = parseFloat(getComputedStyle(this.stage).paddingTop) || 0;
    return [this.element.clientWidth, Math.max(allowed, LEAST_TALL), this.margin];
  }

  #measure() {
    const [wide, tall, margin] = this.#room();
    this.#measured = `${wide},${tall},${margin}`;
    const { width, height } = this.size;
    const byWidth = Math.min(Math.max(wide - 2 * margin, 32) / width, MAX_FIT);
    const whole = Math.min(byWidth, (tall - 2 * margin) / height);
    this.#fits = { whole, wide: Math.min(byWidth, Math.max(whole, WIDE / width)) };
    this.#fit = this.#fitted ? whole : this.#fits.wide;
    set(this.sizer, { height: Math.floor(Math.min(Math.ceil(height * this.#fit + 2 * margin), tall)) });
  }

  #draw() {
    // 359.9999 is 360
    const width = Math.floor(this.size.width * this.scale + 0.01);
    const height = Math.floor(this.size.height * this.scale + 0.01);
    set(this.image, { width, height });
    set(this.layer, { width, height });
    this.element.classList.toggle("is-zoomed", this.zoom > 1);
    this.element.classList.toggle("is-taller", this.zoom === 1 && this.#fit > this.#fits.whole);
    this.resized();
  }
}

/* Whether images are fitted to the window: unless the annotator wanted them wide. A browser may have no storage. */
function rememberedFit() {
  try {
    return localStorage.getItem(FIT) !== "width";
  } catch {
    return true;
  }
}

function rememberFit(fitted) {
  try {
    localStorage.setItem(FIT, fitted ? "window" : "width");
  } catch {
    /* it is asked again on the next page */
  }
}
