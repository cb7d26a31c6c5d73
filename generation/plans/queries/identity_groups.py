"""The identity groups of a study or image set, and the attributes that pull describes them with (PROTOCOL
§9)."""

import difflib
from collections.abc import Sequence

from django.utils.translation import gettext

from annotation.models import (
    IdentityGroup,
    Image,
    ImageSet,
    Option,
    OptionRole,
    Purpose,
    Response,
    Study,
    TaskKind,
    Unit,
)
from annotation.studies.services.study_plan import MADE_FROM_FILE
from annotation.studies.study_file.stimuli import GroupDraw
from annotation.studies.units import draws
from annotation.studies.units.draws import GroupAssociations
from annotation.studies.units.planned import quoted_list
from generation.models import Job
from generation.plans.errors import PlanRefused


def groups_by_name(names: Sequence[str]) -> list[IdentityGroup]:
    """The groups with these names, in this order, without duplicates; `axis/name` if two axes share a name.
    Raises PlanRefused for an unknown name."""
    found: dict[int, IdentityGroup] = {}
    for name in names:
        axis, _, rest = name.partition("/")
        matching = list(IdentityGroup.objects.filter(name__iexact=name.strip()))
        if not matching:
            matching = list(IdentityGroup.objects.filter(axis=axis.strip(), name__iexact=rest.strip()))
        if not matching:
            known = list(IdentityGroup.objects.order_by("name").values_list("name", flat=True))
            raise PlanRefused(
                f"There is no identity group '{name}' in the catalogue.{suggestion(name, known)} "
                + (
                    f"Known groups: {quoted_list(known)}."
                    if known
                    else "It is empty: import associations first (manage.py import_seegull)."
                )
            )
        if len(matching) > 1:
            choices = " or ".join(f"'{each.axis}/{each.name}'" for each in matching)
            raise PlanRefused(f"There are {len(matching)} identity groups '{name}'. Write {choices}.")
        found[matching[0].pk] = matching[0]
    return list(found.values())


def groups_of(study: Study | None, image_set: str) -> list[IdentityGroup]:
    """The groups of `study`, or of the set `image_set`. Raises PlanRefused if there is none."""
    if study is not None:
        return groups_of_study(study)
    found = ImageSet.objects.filter(name=image_set).first()
    if found is None:
        raise PlanRefused(gettext("Choose a study, or name identity groups."))
    return groups_of_image_set(found)


def groups_of_study(study: Study) -> list[IdentityGroup]:
    """The groups of the study's images and associations, by name; if it shows none, the groups with a
    stereotype in its source. Raises PlanRefused if there is none."""
    units = Unit.objects.filter(task__study=study, purpose=Purpose.DATA).order_by()
    shown = {
        *units.filter(image__isnull=False).values_list("image__group", flat=True).distinct(),
        *units.filter(association__isnull=False).values_list("association__group", flat=True).distinct(),
    }
    if not shown and study.stereotype_source is not None:
        shown = {pk for pk, resource in _resources(study).items() if resource.stereotypes}
    if not shown:
        raise PlanRefused(
            f"The study '{study.name}' has no identity groups: it shows no image or association, and "
            + (
                f"its source '{study.stereotype_source.name}' has no stereotype by its rule. Lower the "
                "threshold, or name groups with --groups."
                if study.stereotype_source
                else "it has no source of stereotypes. Name groups with --groups, or give the study a source."
            )
        )
    return list(IdentityGroup.objects.filter(pk__in=shown))


def groups_of_image_set(image_set: ImageSet) -> list[IdentityGroup]:
    """The groups of the set's images and planned jobs, by name. Raises PlanRefused if there is none."""
    images = Image.objects.filter(image_set=image_set)
    jobs = Job.objects.filter(run__image_set=image_set, group__isnull=False)
    pks = {
        *images.order_by().values_list("group", flat=True).distinct(),
        *jobs.order_by().values_list("group", flat=True).distinct(),
    }
    if not pks:
        raise PlanRefused(
            f"The image set '{image_set.name}' has no image yet, so its groups are unknown. Name groups "
            "with --groups."
        )
    return list(IdentityGroup.objects.filter(pk__in=pks))


def attributes_by_group(study: Study, groups: Sequence[IdentityGroup]) -> dict[int, GroupDraw]:
    """Group id -> S(id) and R(id): as the study's depiction pages show them, else drawn by its rule with the
    depiction task's seed (PROTOCOL §5). Groups without data are left out.

    Raises PlanRefused if the study has neither pages nor a source.
    """
    found = _shown_attributes(study)
    missing = [group for group in groups if group.pk not in found]
    if missing and not found and study.stereotype_source is None:
        raise PlanRefused(
            f"The study '{study.name}' has neither attribute pages nor a source of stereotypes, so there are "
            "no attributes for the prompts. Give it a source, or plan the default prompts only."
        )
    if missing and study.stereotype_source is not None:
        resources = _resources(study)
        visual = _visual_attributes(study)
        depiction = study.tasks.filter(kind=TaskKind.DEPICTION).order_by("-version").first()
        for group in missing:
            if (resource := resources.get(group.pk)) is None:
                continue
            drawn = draws.draw(
                seed=depiction.seed if depiction else 0,
                group=f"{group.axis}/{group.name}",
                stereotypical=resource.stereotypes,
                visual=visual,
                associated=resource.associated,
            )
            if drawn.stereotypical:
                found[group.pk] = drawn
    return {group.pk: found[group.pk] for group in groups if group.pk in found}


def suggestion(name: str, known: Sequence[str]) -> str:
    """For error messages: " Did you mean 'x'?", or ""."""
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


def _shown_attributes(study: Study) -> dict[int, GroupDraw]:
    """The attributes on the study's pages. For those without a role (imported releases), the study's rule
    decides; attributes that are associated but not stereotypes are then in neither set."""
    rows = list(
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
    by_group: dict[int, tuple[set[str], set[str]]] = {}
    unassigned = any(role == OptionRole.UNASSIGNED for role, _, _ in rows)
    resources = _resources(study) if unassigned else {}
    empty = GroupAssociations()
    for role, text, group in rows:
        stereotypical, random = by_group.setdefault(group, (set(), set()))
        resource = resources.get(group, empty)
        if role == OptionRole.STEREOTYPICAL or (
            role == OptionRole.UNASSIGNED and text in resource.stereotypes
        ):
            stereotypical.add(text)
        elif role == OptionRole.RANDOM or text not in resource.associated:
            random.add(text)
    return {
        group: GroupDraw(stereotypical=tuple(sorted(first)), random=tuple(sorted(second - first)))
        for group, (first, second) in by_group.items()
        if first
    }


def _resources(study: Study) -> dict[int, GroupAssociations]:
    if study.stereotype_source is None:
        return {}
    return draws.associations_by_group(
        source=study.stereotype_source, pool=study.stereotype_pool, threshold=study.stereotype_threshold
    )


def _visual_attributes(study: Study) -> set[str]:
    """The attributes that the study found visual; if it did not ask, those its file names, else all
    attributes of its source."""
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
