"""Licence and citation of a release, as files."""

from __future__ import annotations

import json

from annotation.releases.data_card import SIMULATED, WARNING, blank
from annotation.releases.metadata import About

_KNOWN = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC-BY-NC-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "CC-BY-NC-SA-4.0": "https://creativecommons.org/licenses/by-nc-sa/4.0/",
    "ODbL-1.0": "https://opendatacommons.org/licenses/odbl/1-0/",
    "Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
}


def licence_address(licence: str) -> str:
    """Where the text of a licence stands, of those whose identifier (SPDX) is known here."""
    return _KNOWN.get(licence, "")


def licence_text(about: About) -> str:
    """LICENSE.txt: what may be done with what is new here, and with what comes from others."""
    licence = about.wanted.licence
    lines = [about.title, ""]
    if licence:
        address = licence_address(licence)
        lines.append(f"The answers of this release are under: {licence}{f' ({address})' if address else ''}")
    else:
        lines += [
            blank("licence").replace("**", ""),
            "No licence has been stated: without one, nobody may pass these data on.",
        ]
    lines += ["", WARNING.replace("**", "")]
    if about.sources or about.image_sets:
        lines += ["", "What comes from others keeps its own licence:"]
    lines += [
        f"- associations of {one.title}: {one.licence or 'not known'}. {one.citation}".strip()
        for one in about.sources
    ]
    lines += [f"- images of {one.title}: {one.licence or 'not known'}" for one in about.image_sets]
    return "\n".join(lines) + "\n"


def citation_file(about: About) -> str:
    """CITATION.cff (Citation File Format 1.2.0). Values are written as JSON, which is YAML too."""
    wanted = about.wanted
    lines = {
        "cff-version": "1.2.0",
        "message": f"Please cite: {wanted.citation}" if wanted.citation else blank("how to cite").strip("*"),
        "type": "dataset",
        "title": about.title,
        "abstract": SIMULATED.strip("*") if about.simulated else about.study.description or about.study.title,
        "authors": [{"name": blank("who made the data").strip("*")}],
        "date-released": about.made_on.isoformat(),
    }
    if licence_address(wanted.licence):
        lines["license"] = wanted.licence
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in lines.items())


__all__ = ["citation_file", "licence_address", "licence_text"]
