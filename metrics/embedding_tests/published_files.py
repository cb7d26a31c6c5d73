"""The published tests, as files without photographs (Wolfe & Caliskan 2022). Pure."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from metrics.embedding_tests.test_file import parse

FOLDER = Path(__file__).resolve().parent / "published"


@dataclass(frozen=True)
class PublishedFile:
    """`text`: TOML; `reference`: the CSV that its ranking names, or "". `about`: its first sentence."""

    name: str
    text: str
    reference: str

    @property
    def about(self) -> str:
        lines = self.text.partition("\n#\n")[0].splitlines()
        return " ".join(line.lstrip("# ") for line in lines).partition(" Published:")[0]


@cache
def published_files() -> dict[str, PublishedFile]:
    """By name, in its order."""
    found = {}
    for path in sorted(FOLDER.glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        ranking = parse(text).ranking
        reference = (FOLDER / ranking.reference).read_text(encoding="utf-8") if ranking else ""
        found[path.stem] = PublishedFile(path.stem, text, reference)
    return found
