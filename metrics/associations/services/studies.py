"""From associations that a model made to studies that ask people (PROTOCOL §11, §2, §5)."""

import logging
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.core.leases import JobState
from annotation.core.table_statistics import analyze_tables
from annotation.imports.services.catalogue import ensure_attributes
from annotation.models import (
    Association,
    Attribute,
    AuditEvent,
    IdentityGroup,
    ImageSet,
    Source,
    Study,
    TaskKind,
)
from annotation.setup import services as setups
from annotation.studies.errors import StudyError
from annotation.studies.units import draws
from metrics.associations.evaluation import AssociationsRefused
from metrics.associations.queries import Choice, chosen
from metrics.core.origins import origin_of, source_title
from metrics.models import AssociationList

logger = logging.getLogger(__name__)
_AT_ONCE = 2000

Pairs = Mapping[tuple[int, str], str]
"""(group, word) -> the group's name."""


@transaction.atomic
def ask_people(
    *, found: AssociationList, choice: Choice, name: str, by: User, kind: str = TaskKind.ASSOCIATION
) -> Study:
    """Store the chosen associations as a source without votes, and create the draft of a study about them.

    `kind`: ASSOCIATION asks three people how biased each is; VISUAL_NATURE asks which words can be seen at
    all. `name`: of both the source and the study. Raises AssociationsRefused if the list is not finished,
    nothing is chosen, or the name is taken; nothing is written then.
    """
    pairs = _pairs(found, choice)
    source = _source(found, pairs, name=name, by=by)
    task: dict[str, Any] = {"kind": kind}
    if kind == TaskKind.ASSOCIATION:
        task["associations"] = {"source": source.name}
    else:
        task["attributes"] = {"source": source.name}
    return _study(found, name=name, by=by, pairs=pairs, document={"tasks": [task]})


@transaction.atomic
def look_for_them(
    *,
    found: AssociationList,
    choice: Choice,
    name: str,
    image_set: ImageSet,
    by: User,
    visual: Study | None = None,
    seed: int = 0,
) -> Study:
    """Store the chosen associations as a source, and create the draft of a study that asks what the images of
    these groups depict: the group's words, and as many drawn from those of other groups.

    `visual`: a study that rated which words are visual; without one, all count as visual. Raises
    AssociationsRefused as `ask_people`, or if no group of the image set has a visual word.
    """
    pairs = _pairs(found, choice)
    words: defaultdict[int, set[str]] = defaultdict(set)
    for group, word in pairs:
        words[group].add(word)
    seen = set().union(*words.values())
    if visual is not None:
        seen &= draws.visual_attributes(study=visual)
    shown = []
    pictured = IdentityGroup.objects.filter(images__image_set=image_set, pk__in=words)
    for shown_group in pictured.distinct():
        drawn = draws.draw(
            seed=seed,
            group=f"{shown_group.axis}/{shown_group.name}",
            stereotypical=words[shown_group.pk],
            visual=seen,
            associated=words[shown_group.pk],
        )
        if drawn.stereotypical:
            shown.append(
                {
                    "group": shown_group.name,
                    "stereotypical": list(drawn.stereotypical),
                    "random": list(drawn.random),
                }
            )
    if not shown:
        raise AssociationsRefused(
            _(
                "No group with images in '%(set)s' has a visual word among those chosen. Choose another "
                "image set, or choose more associations."
            )
            % {"set": image_set.name}
        )
    source = _source(found, pairs, name=name, by=by)
    document = {
        "stereotypes": {"source": source.name},
        "tasks": [
            {"kind": TaskKind.DEPICTION.value, "image_set": image_set.name, "shown": shown, "seed": seed}
        ],
    }
    return _study(found, name=name, by=by, pairs=pairs, document=document)


def _pairs(found: AssociationList, choice: Choice) -> Pairs:
    if found.state != JobState.DONE:
        raise AssociationsRefused(_("The associations are still being found. Wait until they are here."))
    rows = chosen(found, choice).order_by("group__axis", "group__name", "word")
    pairs = {
        (group, word.strip()): name
        for group, name, word in rows.values_list("group", "group__name", "word").distinct()
    }
    if not pairs:
        raise AssociationsRefused(_("No association is chosen. Choose another setting or variant."))
    return pairs


def _source(found: AssociationList, pairs: Pairs, *, name: str, by: User) -> Source:
    if Source.objects.filter(name=name).exists() or Study.objects.filter(name=name).exists():
        raise AssociationsRefused(
            _("There is a study or a source named '%(name)s' already. Choose another name.") % {"name": name}
        )
    run = found.run
    title = _("Associations of run %(run)s (%(model)s)") % {"run": run.title, "model": run.model}
    source = Source.objects.create(
        name=name,
        title=source_title(title, run),
        citation=(
            f"Associations made by {run.model} (run {run.pk}, recipe {run.recipe_hash}), found as by Raj et "
            "al. (2024), BiasDora, Findings of EMNLP."
        ),
        origin=origin_of(run),
        owner=by,
    )
    texts, _created = ensure_attributes(texts=[word for _group, word in pairs])
    made = [Association(source=source, group_id=group, attribute_id=texts[word]) for group, word in pairs]
    Association.objects.bulk_create(made, batch_size=_AT_ONCE)
    analyze_tables(Attribute, Association, rows=len(made))
    return source


def _study(found: AssociationList, *, name: str, by: User, pairs: Pairs, document: dict[str, Any]) -> Study:
    run = found.run
    title = _("Associations of run %(run)s (%(model)s)") % {"run": run.title, "model": run.model}
    whole = {
        "title": title[:120],
        "contact": by.email or by.get_username(),
        "description": _("A model made these associations. What do people say of them?"),
        "consent": {
            "text": _(
                "A model associated these words with groups of people. We ask how you judge them. Taking "
                "part is voluntary, and you can stop and withdraw your answers at any time."
            ),
            "content_warning": _("You will read generalisations about groups of people. Many are offensive."),
        },
        **document,
    }
    try:
        study = setups.save_draft(user=by, name=name, document=whole, may_name_leads=False).study
    except StudyError as error:
        raise AssociationsRefused(str(error)) from error
    found.studies.add(study)
    AuditEvent.objects.create(
        what="study made of associations",
        study=study,
        by=by,
        details={"run": run.pk, "associations": len(pairs)},
    )
    logger.info("study %s made of %s associations of run %s by user %s", name, len(pairs), run.pk, by.pk)
    return study
