"""What every answer has, and what no page holds, so that a browser runs nothing that somebody smuggled in."""

from __future__ import annotations

import re

from django.http import HttpResponseBase


def strict(answer: HttpResponseBase) -> None:
    """The headers that every answer has."""
    parts = answer.headers["Content-Security-Policy"].split(";")
    policy = dict(part.strip().split(" ", 1) for part in parts if part.strip())
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert not {"script-src", "style-src"} & set(policy), "by default-src"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"


def inert(page: str) -> None:
    """Nothing in the page that the policy would stop: no script, style or handler of its own."""
    for attributes, code in re.findall(r"<script\b([^>]*)>(.*?)</script>", page, re.DOTALL):
        assert "application/json" in attributes or not code.strip(), code[:80]
    assert "<style" not in page
    of_its_own = re.search(r"<[^>]+\s(?:style|on[a-z]+)=.{0,60}", page)
    assert not of_its_own, of_its_own
    assert "javascript:" not in page
