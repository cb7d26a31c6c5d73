"""Find a run as people name it: by its number, or by its name."""

from django.db.models import QuerySet

from generation.models import Run


def find_run(runs: QuerySet[Run], name: str) -> Run | None:
    """The run of `runs` with this number or, if there is none, with this name. No two have the same name.

    The number comes first: messages name runs by it, also if another run is called by such a number.
    """
    found = None
    if name.isascii() and name.isdigit() and len(name) < 19:
        found = runs.filter(pk=int(name)).first()
    if found is None and name:
        found = runs.filter(name=name).first()
    return found
