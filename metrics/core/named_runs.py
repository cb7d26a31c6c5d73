"""Find a run as people name it."""

from django.db.models import QuerySet

from generation.models import Run


def find_run(runs: QuerySet[Run], name: str) -> Run | None:
    """The run of `runs` with this name, the newest if several have it, or else with this number."""
    found = runs.filter(name=name).first() if name else None
    if found is None and name.isascii() and name.isdigit() and len(name) < 19:
        found = runs.filter(pk=int(name)).first()
    return found
