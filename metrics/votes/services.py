"""Saving the votes of a closed study as a source of the catalogue (PROTOCOL §3, §14)."""

import logging

import numpy as np
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.core.table_statistics import analyze_tables
from annotation.models import Association, AuditEvent, Source, Study, StudyStatus, TaskKind
from metrics.core.answers import has_simulated_answers
from metrics.core.fingerprints import snapshot
from metrics.votes.data.own_answers import read_prevalence, read_rated_offensiveness

logger = logging.getLogger(__name__)
_AT_ONCE = 2000
LONGEST_NAME = 80
_UNSURE = 0  # on the offensiveness scale: no rating
MOST_VOTES = 32_767  # what the database's small integer holds


class VotesRefused(ValueError):
    """Votes that cannot be saved. The message says why and what to do."""


def default_name(study: Study) -> str:
    return f"{study.name[:74]}-votes"


def may_save(study: Study) -> bool:
    """Whether the study is closed and asked about associations."""
    return study.status == StudyStatus.CLOSED and study.tasks.filter(kind=TaskKind.PREVALENCE).exists()


def save_votes(*, study: Study, name: str = "", by: User | None) -> Source:
    """A new source with every association of the study that was judged, its in-region and out-region votes
    and its ratings of offensiveness, as counted now. Votes of neither pool have no column there.

    `name` "": the study's, with '-votes'. Raises VotesRefused if the study is not closed, has no votes of
    either pool, or the name is taken; nothing is written then.
    """
    if not may_save(study):
        raise VotesRefused(
            _("Only the votes of a closed study about known stereotypes can be saved. Close the study first.")
        )
    name = name or default_name(study)
    try:
        validate_slug(name)
    except ValidationError as error:
        raise VotesRefused(_("Name the source with letters, digits, - and _ only.")) from error
    if len(name) > LONGEST_NAME:
        raise VotesRefused(_("The name of the source has more than 80 characters."))
    with snapshot():
        votes = read_prevalence(study)
        rated = read_rated_offensiveness(study)[0]
    if not votes.pairs:
        raise VotesRefused(_("Nobody has voted in this study."))
    if not (votes.in_region.any() or votes.out_region.any()):
        raise VotesRefused(
            _(
                "There are no votes to save: by their profiles, nobody who voted is in-region or out-region "
                "for the groups that they judged."
            )
        )
    if max(votes.in_region.max(), votes.out_region.max()) > MOST_VOTES:
        raise VotesRefused(f"An association has more than {MOST_VOTES:,} votes of one pool.")
    ratings: dict[tuple[int, int], list[float]] = {}
    for pair, value in zip(rated.pairs, rated.values.tolist(), strict=True):
        if value != _UNSURE:  # as in the export in SeeGULL's format
            ratings.setdefault((pair.group_id, pair.attribute_id), []).append(value)
    rows = [
        _association(pair.group_id, pair.attribute_id, inside, outside, ratings)
        for pair, inside, outside in zip(
            votes.pairs, votes.in_region.tolist(), votes.out_region.tolist(), strict=True
        )
    ]
    note = (
        " Some or all answers were made by a program, not by people." if has_simulated_answers(study) else ""
    )
    with transaction.atomic():
        source, created = Source.objects.get_or_create(
            name=name,
            defaults={
                "title": _("Votes of “%(study)s”") % {"study": study.title[:160]},
                "origin": _("Study %(study)s") % {"study": study.name},
                "owner": by,
                "citation": f"Votes of the study '{study.name}'.{note}",
            },
        )
        if not created:
            raise VotesRefused(
                _("There is a source named '%(name)s' already. Choose another name.") % {"name": name}
            )
        for row in rows:
            row.source = source
        Association.objects.bulk_create(rows, batch_size=_AT_ONCE)
        AuditEvent.objects.create(
            what="votes saved as a source", study=study, by=by, details={"source": name, "pairs": len(rows)}
        )
    analyze_tables(Association, rows=len(rows))
    others = int(np.count_nonzero(votes.others.sum(axis=1)))
    logger.info("votes of %s saved as %s; %s pairs have votes of neither pool", study.name, name, others)
    return source


def _votes(pool: str, counts: list[int]) -> dict[str, int | None]:
    """The columns of a pool; null if it was not asked or did not answer."""
    kinds = ("stereotypical", "nonstereotypical", "unsure")
    return {
        f"{pool}_{kind}": number if any(counts) else None for kind, number in zip(kinds, counts, strict=True)
    }


def _association(
    group: int,
    attribute: int,
    inside: list[int],
    outside: list[int],
    ratings: dict[tuple[int, int], list[float]],
) -> Association:
    rated = ratings.get((group, attribute), [])
    return Association(
        group_id=group,
        attribute_id=attribute,
        **_votes("in", inside),
        **_votes("out", outside),
        offensiveness=rated,
        offensiveness_mean=sum(rated) / len(rated) if rated else None,
    )
