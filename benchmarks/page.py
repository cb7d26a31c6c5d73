"""What the page at work costs whoever sits at it, in headless Chromium.

    python -m benchmarks.page [--answers 300] [--offline 60]

Serves a study of ratings as `manage.py serve` does, static files compressed, and opens its page with an empty
cache: bytes as they come over the line, the number of requests, and which of them only a script asked for,
after it had come itself: a second round. Then answers by keyboard, and notes how long it takes from the keys
that send an item until the next one has been painted. Then the network is cut for `--offline` seconds while
somebody goes on; in the end every answer has to be in the database once.

Written to benchmarks/results/page.json. Ends with an error if an answer is missing, or was taken twice.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from benchmarks.annotate import commit, machine, percentiles
from benchmarks.annotate_server import ROOT, Served
from tests.browser.annotation_page import wait_for_item, wait_until_saved
from tests.browser.conftest import FLAGS, chromium_path

Result = dict[str, Any]
UNITS = 2_000
ALLOWED_BYTES = 150_000
ALLOWED_MS = 50
# From the key that sends an item until another one was painted: the page says which one is on the screen.
TIMES = """() => {
    const item = document.querySelector("#item");
    window.times = [];
    let sent = null, shown = item.dataset.shown;
    addEventListener("keydown", (event) => {
        if (event.key === "Enter" && event.ctrlKey) sent = performance.now();
    }, true);
    new MutationObserver(() => {
        const now = item.dataset.shown;
        if (sent === null || !now || now === shown) return;
        window.times.push(performance.now() - sent);
        [sent, shown] = [null, now];
    }).observe(item, { attributes: true, attributeFilter: ["data-shown"] });
}"""


def first_page(context: BrowserContext, address: str) -> tuple[Page, Result]:
    """The page, and what it took to show its first item."""
    page = context.new_page()
    devices = context.new_cdp_session(page)
    devices.send("Network.enable")
    asked: dict[str, Result] = {}
    devices.on("Network.requestWillBeSent", lambda told: asked.setdefault(told["requestId"], told))
    devices.on(
        "Network.loadingFinished",
        lambda told: asked[told["requestId"]].update(size=told["encodedDataLength"]),
    )
    page.goto(address)
    wait_for_item(page)
    page.wait_for_load_state("networkidle")
    pictures = [each for each in asked.values() if each.get("type") == "Image"]
    files = [each for each in asked.values() if each not in pictures]
    by_scripts = [each["request"]["url"] for each in files if each["initiator"]["type"] == "script"]
    return page, {
        "bytes": sum(int(each["size"]) for each in files),
        "requests": len(files),
        "begun_by_scripts": sorted("/" + url.split("/", 3)[-1] for url in by_scripts),
    }


def answer(page: Page, number: int) -> None:
    """So many items, one after the other."""
    for _ in range(number):
        wait_for_item(page)
        shown = page.locator("#item").get_attribute("data-shown")
        page.keyboard.press(random.choice("1234"))
        page.keyboard.press("Control+Enter")
        expect(page.locator("#item")).not_to_have_attribute("data-shown", shown or "")


def cut(context: BrowserContext, page: Page, seconds: float) -> int:
    """How many items were answered while there was no network."""
    context.set_offline(True)
    until = time.monotonic() + seconds
    answered = 0
    while page.locator("#item[data-shown]").count():
        page.keyboard.press("2")
        page.keyboard.press("Control+Enter")
        answered += 1
        page.wait_for_timeout(1_000)
    page.wait_for_timeout(max(0, 1000 * (until - time.monotonic())))
    context.set_offline(False)
    wait_for_item(page)
    wait_until_saved(page)
    return answered


def measured(server: Served, answers: int, offline: float) -> Result:
    address = f"http://127.0.0.1:{server.port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        context = browser.new_context()
        context.add_cookies([{"name": "sessionid", "value": server.people[0]["session"], "url": address}])
        page, first = first_page(context, f"{address}/studies/load/annotate/")
        page.evaluate(TIMES)
        answer(page, answers)
        times = [each / 1000 for each in page.evaluate("window.times")]
        wait_until_saved(page)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(2_000)  # whoever thinks for so long has the next items ready
        without = cut(context, page, offline)
        browser.close()
    return {
        "first_page": first,
        "next_item_ms": percentiles(times),
        "offline": {"seconds": offline, "answered": without},
        "wanted": answers + without,
        "counted": server.tool("reset"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--answers", type=int, default=300)
    parser.add_argument("--offline", type=float, default=60, help="seconds without a network")
    options = parser.parse_args()
    found: Result = {"machine": machine(), "commit": commit()}
    with (
        tempfile.TemporaryDirectory(prefix="visage-page-") as folder,
        Served(UNITS, Path(folder) / "served", url=os.environ.get("DATABASE_URL", ""), static=True) as server,
    ):
        found |= measured(server, options.answers, options.offline)
    found["machine"]["load_after"] = [round(load, 1) for load in os.getloadavg()]
    path = ROOT / "benchmarks" / "results" / "page.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    if found["counted"]["answers"] != found["wanted"] or found["counted"]["met_twice"]:
        sys.exit(f"{found['wanted']} answers were given: {found['counted']}")
    over = (found["first_page"]["bytes"] > ALLOWED_BYTES, found["next_item_ms"]["p50"] > ALLOWED_MS)
    print(f"at most {ALLOWED_BYTES} bytes: {not over[0]}; next item within {ALLOWED_MS} ms: {not over[1]}")


if __name__ == "__main__":
    main()
