"""Which licences of image sets allow their images to be passed on, as a report does. Pure: no Django.

>>> open_licence("cc by-nc 4.0")
Licence(name='CC BY-NC 4.0', url='https://creativecommons.org/licenses/by-nc/4.0/', credit=True)
>>> open_licence("CC BY")
Licence(name='CC BY', url='', credit=True)
>>> open_licence("CC0")
Licence(name='CC0 1.0', url='https://creativecommons.org/publicdomain/zero/1.0/', credit=False)
>>> open_licence("CC-BY-ND-4.0"), open_licence("all rights reserved"), open_licence("")
(None, None, None)
"""

import re
from dataclasses import dataclass

_CREATIVE_COMMONS = re.compile(r"cc[- ]by((?:-nc)?(?:-sa)?)(?:[- ]v?(1\.0|2\.0|2\.5|3\.0|4\.0))?")
_FIXED = {
    "cc0": ("CC0 1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "apache": ("Apache License 2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
}


@dataclass(frozen=True)
class Licence:
    """A licence that allows smaller copies to be passed on. `url`: of its text; empty if the version, and so
    the text, is not known. `credit`: whether it asks that the creator be named, or that notices be kept."""

    name: str
    url: str
    credit: bool = True


def open_licence(text: str) -> Licence | None:
    """The licence that `text`, in somebody's own words, names; None unless it is known to allow copies and
    smaller versions of them (so none without derivatives, ND). Nothing is guessed: a text that says more
    than the name of a licence is not understood."""
    words = " ".join(text.replace("_", "-").lower().split())
    if words in {"cc0", "cc0-1.0", "cc0 1.0"}:
        return Licence(*_FIXED["cc0"], credit=False)
    if words in {"apache-2.0", "apache 2.0", "apache license 2.0"}:
        return Licence(*_FIXED["apache"])
    found = _CREATIVE_COMMONS.fullmatch(words)
    if found is None:
        return None
    name, version = f"CC BY{found[1].upper()}", found[2]
    if version is None:
        return Licence(name, "")
    return Licence(f"{name} {version}", f"https://creativecommons.org/licenses/by{found[1]}/{version}/")
