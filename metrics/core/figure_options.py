"""Parse the options of a figure, which come as text from a URL or the command line."""

from collections.abc import Mapping

from annotation.models import Region
from metrics.core.suggestions import did_you_mean


def choice(options: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """One of `choices`, by default the first."""
    chosen = options.get(name, choices[0])
    if chosen not in choices:
        raise ValueError(f"{name}={chosen}: choose one of {', '.join(choices)}.")
    return chosen


def number(options: Mapping[str, str], name: str, default: int, *, most: int | None = None) -> int:
    """A whole number of at least 1, and at most `most` if given."""
    text = options.get(name, "") or str(default)
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= (most or int(text))):
        if most is None:
            raise ValueError(f"{name}={text}: a whole number of at least 1 is needed.")
        raise ValueError(f"{name}={text}: choose a number from 1 to {most}.")
    return int(text)


def region(options: Mapping[str, str]) -> str:
    """One of the 8 regions (PROTOCOL §1), or empty."""
    chosen = options.get("region", "")
    if chosen and chosen not in Region.values:
        raise ValueError(
            f"region={chosen}: choose one of {', '.join(Region.values)}.{did_you_mean(chosen, Region.values)}"
        )
    return chosen


def groups(options: Mapping[str, str], names: Mapping[int, str]) -> list[int]:
    """The id of the group named by the option, or all ids of `names` ({id: name}). Raises ValueError with a
    suggestion."""
    name = options.get("group", "")
    if not name:
        return list(names)
    for pk, known in names.items():
        if known.casefold() == name.casefold():
            return [pk]
    raise ValueError(f"group={name}: there is no such group here.{did_you_mean(name, list(names.values()))}")
