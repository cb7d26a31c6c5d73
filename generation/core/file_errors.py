"""What is wrong with a file that somebody wants to import. Pure: no Django."""

from pathlib import Path

MOST_SHOWN = 20


class FileUnusable(ValueError):
    """A file that cannot be imported; nothing was stored. `errors`: the first of them, one for each line."""

    def __init__(self, file: Path, errors: list[str], number: int | None = None) -> None:
        number = len(errors) if number is None else number
        count = "1 error" if number == 1 else f"{number:,} errors"
        more = [f"... and {number - len(errors):,} more."] if number > len(errors) else []
        super().__init__("\n".join([f"{file.name}: {count}; nothing was stored.", *errors, *more]))
