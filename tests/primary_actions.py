"""The primary actions of a page, which should have one at most."""

from __future__ import annotations

from html.parser import HTMLParser

LISTS = {"li", "table", "dialog", "template"}
"""What is in a list of cards or a table is one of many, and a dialog is a page of its own."""


class Primary(HTMLParser):
    """Where the primary buttons are, outside lists, tables and dialogs."""

    def __init__(self) -> None:
        super().__init__()
        self.within: list[str] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in LISTS:
            self.within.append(tag)
        classes = set((dict(attrs).get("class") or "").split())
        if "button" in classes and not self.within and not classes & {"button-quiet", "button-link"}:
            self.found.append(f"line {self.getpos()[0]}")

    def handle_endtag(self, tag: str) -> None:
        if tag in LISTS:
            self.within.pop()


def primary(html: str) -> list[str]:
    page = Primary()
    page.feed(html)
    return page.found
