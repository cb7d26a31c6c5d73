"""Who may compute and read a league: who leads all of its studies."""

from collections.abc import Collection, Mapping, Sequence

from django.contrib.auth.models import User
from django.http import Http404

from annotation import policies
from annotation.models import Study
from metrics.league.data.studies import STUDIES, parse_names
from metrics.league.kinds import KINDS, Kind


def led_studies(user: policies.User, names: Collection[str]) -> list[Study]:
    """The studies of these names, by name. Http404 unless the account leads all of them. One query, and
    another for their tasks."""
    found = list(
        policies.studies_led_by(user)
        .filter(name__in=names)
        .select_related("stereotype_source")
        .prefetch_related("tasks__image_set")
        .order_by("name")
    )
    if len(found) < len(set(names)):
        raise Http404("There is no such study.")
    return found


def kinds_of(study: Study) -> list[Kind]:
    """The kinds of league that a study can be in. No query if its tasks are fetched."""
    tasks = {task.kind for task in study.tasks.all()}
    return [kind for kind in KINDS.values() if kind.task in tasks]


def kind_of(studies: Sequence[Study], task: str = "") -> Kind:
    """The kind of league of `studies`: of this kind of task or, without one, the first that all have. Http404
    if a study has no such task."""
    for kind in KINDS.values():
        if task in ("", kind.task) and all(kind in kinds_of(study) for study in studies):
            return kind
    raise Http404("There is no kind of task that all of these studies have.")


def check_offered(kind: Kind, user: User, study: Study, parameters: Mapping[str, str]) -> None:
    """Raise ValueError unless the parameters are well formed and the account leads all of the studies."""
    parse_names(study, parameters)
    check_readable(kind, user, parameters)


def check_readable(kind: Kind, user: User, parameters: Mapping[str, str]) -> None:
    """Raise ValueError unless the account leads all of the other studies, which must have tasks of the kind.
    A study of others and one that does not exist read the same."""
    names = other_studies(parameters)
    led = policies.studies_led_by(user).filter(name__in=names, tasks__kind=kind.task)
    missing = sorted(names - set(led.values_list("name", flat=True)))
    if missing:
        raise ValueError(f"{STUDIES}: you lead no study {kind.about} named {', '.join(map(repr, missing))}.")


def other_studies(parameters: Mapping[str, str]) -> set[str]:
    """The names of the other studies."""
    return {name for name in parameters.get(STUDIES, "").split(",") if name}
