"""axe-core in a page: what it finds wrong there."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from playwright.sync_api import Page

CONTRAST = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules that look at colours."""

# For old browsers axe-core keeps the private fields of each colour in seven weak maps. To fill and to clear
# those is a third of its work, so they store what they hold in the object itself while it is loaded. To read
# a colour as CSS writes it takes as long again: each text is read once.
SCRIPT = (
    """(() => {
    class Inside {
        #name = Symbol();
        has(object) { return this.#name in object; }
        get(object) { return object[this.#name]; }
        set(object, value) { object[this.#name] = value; return this; }
        add(object) { return this.set(object, true); }
    }
    let WeakMap = Inside, WeakSet = Inside;
"""
    + AXE_SCRIPT
    + """
    // what it keeps of a page from now on is let go of again
    WeakMap = window.WeakMap;
    WeakSet = window.WeakSet;

    const colours = window.axe.commons.color.Color.prototype;
    const parse = colours.parseString;
    const known = new Map();
    colours.parseString = function (text) {
        if (!known.has(text)) {
            parse.call(this, text);
            known.set(text, [this.r, this.g, this.b, this.alpha]);
        }
        [this.r, this.g, this.b, this.alpha] = known.get(text);
        return this;
    };
})()"""
)
ADDRESS = "/axe-core.js"
"""Where the tests' server has it. A browser keeps the file from page to page; as a text it went through three
processes for each page."""
_FETCH = """from => new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = from;
    script.onload = () => done(script.remove());
    script.onerror = () => failed(new Error("axe-core does not come"));
    document.head.append(script);
})"""
# to list all that is right as well takes as long again
_RUN = """options => axe.run({resultTypes: ["violations"], ...options})
    .then(found => ({violations: found.violations}))"""


def faults(page: Page, options: dict[str, Any] | None = None) -> str:
    """Everything that is wrong, in words; nothing if nothing is. `options`: as axe.run knows them."""
    # read once by a page: it is half a megabyte
    if not page.evaluate("'axe' in window"):
        if page.url.startswith("http"):
            page.evaluate(_FETCH, ADDRESS)
        else:  # a file has no server
            page.evaluate(SCRIPT)
    found = AxeResults(page.evaluate(_RUN, options or {}))
    return found.generate_report() if found.violations_count else ""
