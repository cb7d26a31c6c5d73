/* The image in its scrollable frame: its scale, its visible part, and the conversion of screen points to image
   points. Sizes are `width` and `height` attributes and panning is scrolling, so no style is ever set. A box can be
   started in the margin around the image. */

import { el, set, svg } from "../dom.js";

const MAX_FIT = 3; // a small image is not enlarged further
const ZOOM_STEP = 1.25;
const MAX_ZOOM = 10;

export class Frame {
  size = { width: 1, height: 1 };
  zoom = 1;
  #fit = 1;
  #measuredWidth = 0;
  #observer;

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
    this.#observer = new ResizeObserver(() => requestAnimationFrame(() => this.#resize()));
    this.#observer.observe(this.element);
  }

  /* Screen pixels per image pixel. */
  get scale() {
    return this.#fit * this.zoom;
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

  /* Scroll just enough to show an image point with some room around it. */
  keepInView(point) {
    const seen = this.layer.getBoundingClientRect();
    const view = this.view.getBoundingClientRect();
    const room = 24;
    const x = seen.left + point.x * this.scale;
    const y = seen.top + point.y * this.scale;
    const over = (value, low, high) => Math.min(value - low - room, 0) || Math.max(value - high + room, 0);
    this.panBy(over(x, view.left, view.right), over(y, view.top, view.bottom));
  }

  destroy() {
    this.#observer.disconnect();
  }

  #centre() {
    const view = this.view.getBoundingClientRect();
    return { clientX: view.left + view.width / 2, clientY: view.top + view.height / 2 };
  }

  #resize() {
    if (this.element.clientWidth === this.#measuredWidth) return;
    this.#measure();
    this.#draw();
  }

  /* The largest scale at which the whole image is visible. */
  #measure() {
    this.#measuredWidth = this.element.clientWidth;
    const margin = 2 * parseFloat(getComputedStyle(this.stage).paddingTop || "0");
    const room = Math.max(this.#measuredWidth - margin, 32);
    const tall = Math.max(innerHeight * 0.75 - margin, 200);
    const { width, height } = this.size;
    this.#fit = Math.min(room / width, tall / height, MAX_FIT);
    set(this.sizer, { height: Math.ceil(height * this.#fit + margin) });
  }

  #draw() {
    const width = Math.floor(this.size.width * this.scale);
    const height = Math.floor(this.size.height * this.scale);
    set(this.image, { width, height });
    set(this.layer, { width, height });
    this.element.classList.toggle("is-zoomed", this.zoom > 1);
    this.resized();
  }
}
