"""Reads of candidates for pages, the API and the command."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation import policies
from annotation.models import Association, AuditEvent, IdentityGroup, Pool, Source, Study
from generation.models import Answer, Run, RunKind
from generation.runs import named
from metrics.candidates.evaluation import PURPOSE, CandidatesRefused
from metrics.candidates.extraction import pairs_of, whole_text
from metrics.candidates.identity_forms import IdentityForms
from metrics.candidates.prompts import Seed
from metrics.core.suggestions import did_you_mean
from metrics.models import Candidate, CandidateList, StruckCandidate

MOST_ASKINGS = 50
"""Most askings shown of a candidate."""
_SCANNED = 1000


def completion_runs() -> QuerySet[Run]:
    """The runs whose answers may hold candidates, newest first: not those planned for something else."""
    # A key that is not there makes a condition null, so that exclude() by it would lose the other runs.
    planned = Run.objects.filter(recipe__design__has_key="purpose")
    others = planned.exclude(recipe__design__purpose=PURPOSE)
    runs = Run.objects.filter(kind=RunKind.COMPLETIONS).exclude(pk__in=others.values("pk"))
    return runs.order_by("-pk")


def studies_made(run: Run, by: policies.User) -> list[Study]:
    """The studies made of the candidates of a run, of those that `by` leads, oldest first."""
    # The run ids are in JSON, which databases compare differently; there are few rows, so read them.
    events = AuditEvent.objects.filter(
        what="study made of candidates", study__in=policies.studies_led_by(by)
    ).select_related("study")
    return [each.study for each in events.order_by("at") if each.study and each.details["run"] == run.pk]


def find_run(name: str) -> Run:
    """The run with this name or number. Raises CandidatesRefused."""
    found = named.find_run(Run.objects.all(), name)
    if found is None:
        known = list(completion_runs().values_list("name", flat=True)[:20])
        raise CandidatesRefused(
            f"There is no run '{name}'.{did_you_mean(name, known)} Runs of completions: "
            f"{', '.join(known) or 'none yet'}."
        )
    return found


def catalogue_seeds(
    *, source: str, axis: str, threshold: int, pool: str, number: int | None, seed: int
) -> list[Seed]:
    """Known stereotypes of a source on an axis, or a seeded sample of `number` of them: pairs that at least
    `threshold` annotators of the pool called stereotypical. Raises CandidatesRefused."""
    known = Source.objects.filter(name=source).first()
    if known is None:
        names = sorted(Source.objects.values_list("name", flat=True))
        raise CandidatesRefused(
            f"There is no file and no source '{source}'.{did_you_mean(source, names)} Sources: "
            f"{', '.join(names) or 'none yet; import one (manage.py import_seegull)'}."
        )
    votes = "in_stereotypical" if pool == Pool.IN_REGION else "out_stereotypical"
    rows = Association.objects.filter(source=known, group__axis=axis, **{f"{votes}__gte": threshold})
    # sorted here, because databases sort letters in different orders
    pairs = sorted(rows.values_list("group__name", "group__demonym", "attribute__text"))
    usable = [
        Seed(demonym or name, text) for name, demonym, text in pairs if not set("(),") & set(demonym + text)
    ]
    if len(usable) < 2:
        raise CandidatesRefused(
            f"The source '{source}' has {len(usable)} pairs of the axis '{axis}' with at least {threshold} "
            f"votes of the pool '{pool}': at least 2 are needed. Lower the threshold, or choose another "
            "pool, axis or source."
        )
    if number is None:
        return usable
    if not 2 <= number <= len(usable):
        raise CandidatesRefused(f"{number} seeds: choose 2 to {len(usable)}, the number of known pairs.")
    return random.Random(f"seeds {seed}").sample(usable, number)  # noqa: S311  # a sample, not a secret


def with_struck(rows: QuerySet[Candidate]) -> QuerySet[Candidate]:
    """The candidates, each with `struck`: whether somebody struck it out."""
    return rows.annotate(struck=_struck())


def _struck() -> Exists:
    return Exists(
        StruckCandidate.objects.filter(
            run=OuterRef("candidate_list__run"), group=OuterRef("group"), attribute=OuterRef("attribute")
        )
    )


def remaining(found: CandidateList) -> QuerySet[Candidate]:
    """The selected candidates that nobody struck out."""
    return with_struck(found.candidates.filter(selected=True)).exclude(_struck())


@dataclass(frozen=True)
class GroupRow:
    """A group of a list: how many candidates it has, how many are selected, and how many of these were struck
    out."""

    group: IdentityGroup
    candidates: int
    selected: int
    struck: int


def group_rows(found: CandidateList) -> list[GroupRow]:
    """The groups with candidates, by region and name. Two queries."""
    counts = (
        with_struck(found.candidates.all())
        .order_by()
        .values("group")
        .annotate(
            candidates=Count("pk"),
            chosen=Count("pk", filter=Q(selected=True)),
            out=Count("pk", filter=Q(selected=True, struck=True)),
        )
    )
    numbers = {row["group"]: row for row in counts}
    groups = IdentityGroup.objects.in_bulk(numbers)
    rows = [GroupRow(groups[pk], row["candidates"], row["chosen"], row["out"]) for pk, row in numbers.items()]
    return sorted(rows, key=lambda row: (row.group.region, row.group.name))


def struck_by(run: Run, candidates: Sequence[Candidate]) -> dict[tuple[int, str], StruckCandidate]:
    """(group, attribute) -> who struck it out and when."""
    rows = StruckCandidate.objects.filter(
        run=run,
        group__in={one.group_id for one in candidates},
        attribute__in={one.attribute for one in candidates},
    )
    return {(row.group_id, row.attribute): row for row in rows.select_related("by")}


@dataclass(frozen=True)
class Askings:
    """The answers that gave a candidate, in the order of their askings. `after`: the job to go on after, or
    None at the end of the answers."""

    answers: list[Answer]
    after: int | None


def askings_of(candidate: Candidate, forms: IdentityForms, *, after: int = 0) -> Askings:
    """Up to MOST_ASKINGS answers that gave the candidate, from those whose text has one of its words. A word
    that a model wrote with other characters within it is not sought here."""
    words = {max(text.split(), key=len) for text in (candidate.attribute, *candidate.also)}
    given = {(candidate.group_id, text) for text in (candidate.attribute, *candidate.also)}
    texts = Q()
    for word in words:
        texts |= Q(text__icontains=word) | Q(job__prompt__icontains=word)
    rows = (
        Answer.objects.filter(texts, run=candidate.candidate_list.run_id, job__gt=after)
        .select_related("job")
        .order_by("job")
    )
    found: list[Answer] = []
    for answer in rows.iterator(chunk_size=_SCANNED):
        if given & set(pairs_of(whole_text(answer.job.prompt, answer.text), forms)):
            found.append(answer)
            if len(found) == MOST_ASKINGS:
                return Askings(found, answer.job_id)
    return Askings(found, None)
