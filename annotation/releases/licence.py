"""The licence and citation files of a release."""

from __future__ import annotations

import json

from annotation.releases.data_card import SIMULATED, WARNING, placeholder
from annotation.releases.metadata import ReleaseInfo

_KNOWN = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC-BY-NC-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "CC-BY-NC-SA-4.0": "https://creativecommons.org/licenses/by-nc-sa/4.0/",
    "ODbL-1.0": "https://opendatacommons.org/licenses/odbl/1-0/",
    "Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
}


def licence_url(licence: str) -> str:
    """The URL of a licence's text; empty for an unknown SPDX identifier."""
    return _KNOWN.get(licence, "")


def licence_text(info: ReleaseInfo) -> str:
    """LICENSE.txt: the terms of the answers, and of data from other sources."""
    licence = info.options.licence
    lines = [info.title, ""]
    if licence:
        url = licence_url(licence)
        lines.append(f"The answers in this release are licensed under: {licence}{f' ({url})' if url else ''}")
    else:
        lines += [
            placeholder("licence").replace("**", ""),
            "No licence has been stated. Without one, nobody may share these data.",
        ]
    lines += ["", WARNING.replace("**", "")]
    if info.sources or info.image_sets:
        lines += ["", "Data from other sources keep their own licences:"]
    lines += [
        f"- associations of {one.title}: {one.licence or 'not known'}. {one.citation}".strip()
        for one in info.sources
    ]
    lines += [f"- images of {one.title}: {one.licence or 'not known'}" for one in info.image_sets]
    return "\n".join(lines) + "\n"


def citation_file(info: ReleaseInfo) -> str:
    """CITATION.cff (Citation File Format 1.2.0). Values are written as JSON, which is valid YAML."""
    options = info.options
    lines = {
        "cff-version": "1.2.0",
        "message": f"Please cite: {options.citation}"
        if options.citation
        else placeholder("how to cite").strip("*"),
        "type": "dataset",
        "title": info.title,
        "abstract": SIMULATED.strip("*") if info.simulated else info.study.description or info.study.title,
        "authors": [{"name": placeholder("who made the data").strip("*")}],
        "date-released": info.made_on.isoformat(),
    }
    if licence_url(options.licence):
        lines["license"] = options.licence
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in lines.items())
