"""Which answers of a study count, and which associations its rules make stereotypes."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import Annotator, Association, Box, Judgement, Pool, Response, Study, Task, TaskKind


def counted_responses(study: Study | OuterRef, task: str) -> QuerySet[Response]:
    """The responses that count in every score of `study`: a study, or OuterRef(OuterRef(…)) of one."""
    return Response.objects.filter(_counts(study, task))


def counted_judgements(study: Study, task: str) -> QuerySet[Judgement]:
    """The judgements of the responses that count in every score of `study`."""
    return Judgement.objects.filter(_counts(study, task, "response__"))


def counted_boxes(study: Study, task: str) -> QuerySet[Box]:
    """The boxes of attributes that were selected in those responses."""
    selected = Q(judgement__value=1, judgement__option__attribute__isnull=False)
    return Box.objects.filter(_counts(study, task, "judgement__response__"), selected)


def _counts(study: Study | OuterRef, kind: str, response: str = "") -> Q:
    """Whether a response counts; `response`: what leads to it. All versions of a task are a subquery, not a
    join: SQLite then begins with these few and never looks through the units of other tasks."""
    conditions = {
        "unit__task__in": Task.objects.filter(study=study, kind=kind),
        "current": True,
        "withdrawn_at__isnull": True,
        "slot__isnull": False,
    }
    return Q(**{f"{response}{field}": value for field, value in conditions.items()})


def stereotypes(study: Study) -> QuerySet[Association]:
    """The associations that the study's rule makes stereotypes (PROTOCOL §3); none without a source."""
    if study.stereotype_source_id is None:
        return Association.objects.none()
    votes = "in_stereotypical" if study.stereotype_pool == Pool.IN_REGION else "out_stereotypical"
    return Association.objects.filter(
        source=study.stereotype_source_id, **{f"{votes}__gte": study.stereotype_threshold}
    )


def describe_stereotype_rule(study: Study) -> str:
    """The study's rule for stereotypes, as shown with every score that depends on it."""
    if study.stereotype_source is None:
        return "no stereotype source is set: no attribute counts as stereotypical"
    return (
        f"stereotypical: at least {study.stereotype_threshold} stereotypical "
        f"{Pool(study.stereotype_pool).label} votes in {study.stereotype_source.name}"
    )


def task_kinds(study: Study) -> list[str]:
    """The kinds of task in `study` that have a counted answer."""
    return [kind for kind in TaskKind.values if counted_judgements(study, kind).exists()]


def has_simulated_answers(*studies: Study) -> bool:
    """Whether a program made any of the answers. Numbers based on such answers must say so. One query."""
    if any(study.simulated for study in studies):
        return True
    # Start from the simulated annotators, who are few, and not from the study's many answers.
    answers = Response.objects.filter(annotator=OuterRef("pk"), unit__task__study__in=studies).order_by()
    return Annotator.objects.filter(Exists(answers), simulated=True).exists()
