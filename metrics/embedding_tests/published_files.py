"""The published tests, as files without photographs and tables (Wolfe & Caliskan 2022). Pure."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "published"


@dataclass(frozen=True)
class PublishedFile:
    """`text`: TOML. `about`: its first sentence."""

    name: str
    text: str

    @property
    def about(self) -> str:
        lines = self.text.partition("\n#\n")[0].splitlines()
        return " ".join(line.lstrip("# ") for line in lines).partition(" Published:")[0]


@cache
def published_files() -> dict[str, PublishedFile]:
    """By name, in its order."""
    paths = sorted(FOLDER.glob("*.toml"))
    return {path.stem: PublishedFile(path.stem, path.read_text(encoding="utf-8")) for path in paths}
