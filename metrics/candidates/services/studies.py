"""From candidates to a prevalence study (PROTOCOL §14, §3)."""

import logging

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.core.leases import JobState
from annotation.core.table_statistics import analyze_tables
from annotation.imports.services.catalogue import ensure_attributes
from annotation.models import Association, Attribute, AuditEvent, Source, Study, TaskKind
from annotation.setup import services as setups
from annotation.studies.errors import StudyError
from metrics.candidates.evaluation import CandidatesRefused
from metrics.candidates.queries import remaining
from metrics.core.origins import origin_of, source_title
from metrics.models import CandidateList

logger = logging.getLogger(__name__)
_AT_ONCE = 2000


@transaction.atomic
def open_study(*, found: CandidateList, name: str, by: User) -> Study:
    """Store the selected candidates that were not struck out as a source without votes, and create the draft
    of a study that asks three in-region and three out-region annotators about each.

    `name`: of both the source and the study. Raises CandidatesRefused if the list is not finished, nothing
    remains, groups have no region, or the name is taken; nothing is written then.
    """
    if found.state != JobState.DONE:
        raise CandidatesRefused(_("The candidates are still being found. Wait until they are here."))
    rows = list(remaining(found).values_list("group_id", "group__name", "group__region", "attribute"))
    if not rows:
        raise CandidatesRefused(_("No candidate is selected, or all were struck out."))
    if without := sorted({group for _id, group, region, _text in rows if not region}):
        raise CandidatesRefused(
            _(
                "These groups have no region, so nobody is in-region for them: %(groups)s. Give them a "
                "region in the catalogue, or strike out their candidates."
            )
            % {"groups": ", ".join(without)}
        )
    if Source.objects.filter(name=name).exists() or Study.objects.filter(name=name).exists():
        raise CandidatesRefused(
            _("There is a study or a source named '%(name)s' already. Choose another name.") % {"name": name}
        )
    run = found.run
    title = _("Candidates of run %(run)s (%(model)s)") % {"run": run.title, "model": run.model}
    source = Source.objects.create(
        name=name,
        title=source_title(title, run),
        citation=_citation(found),
        origin=origin_of(run),
        owner=by,
    )
    texts, _created = ensure_attributes(texts=[text for *_group, text in rows])
    made = [
        Association(source=source, group_id=group, attribute_id=texts[text])
        for group, _name, _region, text in rows
    ]
    Association.objects.bulk_create(made, batch_size=_AT_ONCE)
    analyze_tables(Attribute, Association, rows=len(made))
    document = {
        "title": title[:120],
        "contact": by.email or by.get_username(),
        "description": _("Are these associations known stereotypes? They were given by a language model."),
        "consent": {
            "text": _(
                "We ask which opinions about groups of people are known in society, not which ones you hold. "
                "Taking part is voluntary, and you can stop and withdraw your answers at any time."
            ),
            "content_warning": _("You will read generalisations about groups of people. Many are offensive."),
        },
        "tasks": [{"kind": TaskKind.PREVALENCE.value, "associations": {"source": name}}],
    }
    try:
        study = setups.save_draft(user=by, name=name, document=document, may_name_leads=False).study
    except StudyError as error:
        raise CandidatesRefused(str(error)) from error
    AuditEvent.objects.create(
        what="study made of candidates", study=study, by=by, details={"run": run.pk, "candidates": len(made)}
    )
    logger.info("study %s made of %s candidates of run %s by user %s", name, len(made), run.pk, by.pk)
    return study


def _citation(found: CandidateList) -> str:
    run = found.run
    return (
        f"Candidates given by {run.model} (run {run.pk}, recipe {run.recipe_hash}), "
        f"found as by Jha et al. (2023), SeeGULL, ACL: the {found.per_region} most salient of each region."
    )
