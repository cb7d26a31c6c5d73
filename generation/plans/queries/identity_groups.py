"""What a study says of identity groups: which ones, and how pull describes them (PROTOCOL §9)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from annotation.models import (
    IdentityGroup,
    Image,
    ImageSet,
    Option,
    OptionRole,
    Purpose,
    Response,
    Study,
    Task,
    TaskKind,
    Unit,
)
from annotation.studies.services.study_plan import MADE_FROM_FILE
from annotation.studies.units import draws
from annotation.studies.units.draws import GroupAssociations, GroupDraw
from annotation.studies.units.planned import quoted_list
from generation.models import Job
from generation.plans.errors import PlanRefused


def groups_named(names: Sequence[str]) -> list[IdentityGroup]:
    """The catalogue's groups of these names, in this order, each once; `axis/name` where two axes have the
    same name. Raises PlanRefused for one that is not there."""
    found: dict[int, IdentityGroup] = {}
    for name in names:
        axis, _, rest = name.partition("/")
        matching = list(IdentityGroup.objects.filter(name__iexact=name.strip()))
        if not matching and rest:
            matching = list(IdentityGroup.objects.filter(axis=axis.strip(), name__iexact=rest.strip()))
        if not matching:
            known = list(IdentityGroup.objects.order_by("name").values_list("name", flat=True))
            raise PlanRefused(
                f"There is no identity group '{name}' in the catalogue.{nearest(name, known)} "
                + (
                    f"There are: {quoted_list(known)}."
                    if known
                    else "There is none at all yet: import associations first (manage.py import_seegull)."
                )
            )
        if len(matching) > 1:
            ways = " or ".join(f"'{each.axis}/{each.name}'" for each in matching)
            raise PlanRefused(f"There are {len(matching)} identity groups '{name}'. Write {ways}.")
        found[matching[0].pk] = matching[0]
    return list(found.values())


def groups_of(study: Study) -> list[IdentityGroup]:
    """The groups that a study is about, by name: those of the images and associations it shows; where it
    shows none, those that its source has a stereotype of. Raises PlanRefused if there is none."""
    units = Unit.objects.filter(task__study=study, purpose=Purpose.DATA).order_by()
    shown = {
        *units.filter(image__isnull=False).values_list("image__group", flat=True).distinct(),
        *units.filter(association__isnull=False).values_list("association__group", flat=True).distinct(),
    }
    if not shown and study.stereotype_source is not None:
        shown = {pk for pk, said in _resources(study).items() if said.stereotypes}
    if not shown:
        raise PlanRefused(
            f"The study '{study.name}' is about no identity group: it shows no image or association, and "
            + (
                f"its source '{study.stereotype_source.name}' has no stereotype by its rule. Lower its "
                "threshold, or name groups with --groups."
                if study.stereotype_source
                else "has no source of stereotypes. Name groups with --groups, or give the study a source."
            )
        )
    return list(IdentityGroup.objects.filter(pk__in=shown))


def groups_of_set(image_set: ImageSet) -> list[IdentityGroup]:
    """The groups that a set has images of, or that runs make for it, by name. Raises PlanRefused if none."""
    there = {
        *Image.objects.filter(image_set=image_set).order_by().values_list("group", flat=True).distinct(),
        *Job.objects.filter(run__image_set=image_set, group__isnull=False)
        .order_by()
        .values_list("group", flat=True)
        .distinct(),
    }
    if not there:
        raise PlanRefused(
            f"The image set '{image_set.name}' has no image yet, so it does not say of whom. Name groups "
            "with --groups."
        )
    return list(IdentityGroup.objects.filter(pk__in=there))


def described_as(study: Study, groups: Sequence[IdentityGroup]) -> dict[int, GroupDraw]:
    """Group id -> S(id) and R(id): what the study's depiction pages show of it, else drawn by its rule with
    its depiction task's seed (PROTOCOL §5). Groups that nothing is known of are left out.

    Raises PlanRefused if the study has neither pages nor a source.
    """
    shown = _shown(study)
    if set(shown) >= {group.pk for group in groups}:
        return {group.pk: shown[group.pk] for group in groups}
    if study.stereotype_source is None:
        if shown:
            return {group.pk: shown[group.pk] for group in groups if group.pk in shown}
        raise PlanRefused(
            f"The study '{study.name}' has neither pages of attributes nor a source of stereotypes, so there "
            "is nothing to describe people as. Give it a source, or plan the default prompts only."
        )
    known = _resources(study)
    visual = _visual(study)
    depiction = _depiction(study)
    drawn = dict(shown)
    for group in groups:
        if group.pk in drawn or group.pk not in known:
            continue
        said = known[group.pk]
        each = draws.draw(
            seed=depiction.seed if depiction else 0,
            group=f"{group.axis}/{group.name}",
            stereotypical=said.stereotypes,
            visual=visual,
            associated=said.associated,
        )
        if each.stereotypical:
            drawn[group.pk] = each
    return {group.pk: drawn[group.pk] for group in groups if group.pk in drawn}


def nearest(name: str, known: Sequence[str]) -> str:
    """How an error names what was probably meant: " Did you mean 'x'?", or nothing."""
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


def _shown(study: Study) -> dict[int, GroupDraw]:
    """What the pages show. Where a release does not say what is stereotypical (role unassigned), the
    study's rule does; what is associated without being a stereotype is then neither."""
    rows = (
        Option.objects.filter(
            unit__task__study=study,
            unit__task__kind=TaskKind.DEPICTION,
            unit__purpose=Purpose.DATA,
            attribute__isnull=False,
        )
        .order_by()
        .values_list("role", "attribute__text", "unit__image__group")
        .distinct()
    )
    of: dict[int, tuple[set[str], set[str]]] = {}
    known: Mapping[int, GroupAssociations] | None = None
    nothing = GroupAssociations(stereotypes=frozenset(), associated=frozenset())
    for role, text, group in rows:
        stereotypical, random = of.setdefault(group, (set(), set()))
        if role == OptionRole.UNASSIGNED and known is None:
            known = _resources(study) if study.stereotype_source else {}
        said = (known or {}).get(group, nothing)
        if role == OptionRole.STEREOTYPICAL or (role == OptionRole.UNASSIGNED and text in said.stereotypes):
            stereotypical.add(text)
        elif role == OptionRole.RANDOM or text not in said.associated:
            random.add(text)
    return {
        group: GroupDraw(stereotypical=tuple(sorted(first)), random=tuple(sorted(second - first)))
        for group, (first, second) in of.items()
        if first
    }


def _resources(study: Study) -> dict[int, GroupAssociations]:
    if study.stereotype_source is None:
        return {}
    return draws.associations_by_group(
        source=study.stereotype_source, pool=study.stereotype_pool, threshold=study.stereotype_threshold
    )


def _visual(study: Study) -> set[str]:
    """What the study found visual; where it did not ask, what its file drew from, else everything that its
    source knows."""
    asked = Response.objects.filter(
        unit__task__study=study, unit__task__kind=TaskKind.VISUAL_NATURE, current=True
    ).exists()
    if asked:
        return draws.visual_attributes(study=study)
    made = study.audit_events.filter(what=MADE_FROM_FILE).order_by("-pk").first()
    drawn_from = made.details["draws"].get(TaskKind.DEPICTION, {}).get("visual") if made else None
    if isinstance(drawn_from, str) and (other := Study.objects.filter(name=drawn_from).first()):
        return draws.visual_attributes(study=other)
    if isinstance(drawn_from, list):
        return set(drawn_from)
    return draws.source_attributes(source=study.stereotype_source) if study.stereotype_source else set()


def _depiction(study: Study) -> Task | None:
    return study.tasks.filter(kind=TaskKind.DEPICTION).order_by("-version").first()


__all__ = ["described_as", "groups_named", "groups_of", "groups_of_set", "nearest"]
