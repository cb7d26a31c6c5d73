"""Units that show an image with a page of attributes (PROTOCOL §5)."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from annotation.models import IdentityGroup, Image, ImageSet, OptionRole, Pool, Source, Study, TaskKind
from annotation.studies.errors import KeyPath, StudyRefused
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.reading import StudyFile
from annotation.studies.study_file.stimuli import GroupDraw, PageDraw
from annotation.studies.study_file.tasks import TaskFile
from annotation.studies.units import draws
from annotation.studies.units.people_part import draw_people_part
from annotation.studies.units.planned import (
    Plan,
    PlannedOption,
    PlannedUnit,
    quoted_list,
    require_regions,
    resolve_strata,
    rows_named,
)

_SOURCE_KEY = "stereotypes.source"


def plan_pages(
    task: TaskFile,
    pages: PageDraw | dict[str, GroupDraw],
    *,
    file: StudyFile,
    source: Source | None,
    key: str,
) -> Plan:
    """The pages of every image whose group has attributes to show. Images are shuffled by the seed; the pages
    of an image stay together. `source`: of the stereotypes, if the file names one."""
    images = rows_named(
        ImageSet.objects.filter(name=task.image_set), "name", [task.image_set], f"{key}.image_set"
    )[0]
    groups = _groups(images, key=key)
    notes: list[str] = []
    if isinstance(pages, PageDraw):
        shown = _draw(
            task, pages, file=file, source=source, groups=groups, key=f"{key}.attributes", notes=notes
        )
    else:
        shown = pages
        _check_groups(shown, groups=groups, key=f"{key}.shown")
    chosen = {group.pk: (group, shown[name]) for name, group in groups.items() if name in shown}
    require_regions(
        task.strata,
        regions={group.name: group.region for group, _ in chosen.values()},
        key=key,
        groups=f"{key}.attributes.groups",
    )
    rows = sorted(
        (_name(chosen[group][0]), index, group, pk)
        for pk, group, index in Image.objects.filter(image_set=images, group__in=chosen)
        .order_by()
        .values_list("pk", "group", "index")
    )
    part = draw_people_part(
        ((name, image) for name, _, _, image in rows), share=task.people_share, seed=task.seed
    )
    random.Random(task.seed).shuffle(rows)  # noqa: S311 - an order to be repeated

    _check_sizes(images, chosen, key=f"{key}.image_set")

    def units() -> Iterator[PlannedUnit]:
        for name, index, group, image in rows:
            image_group, drawn = chosen[group]
            judged = part is None or image in part
            unit_strata = resolve_strata(task.strata, region=image_group.region) if judged else ()
            page_texts = draws.split_into_pages(
                seed=task.seed, image=f"{name}/{index}", drawn=drawn, page_size=task.page_size
            )
            for number, texts in enumerate(page_texts, 1):
                yield PlannedUnit(
                    image_id=image,
                    page=number,
                    options=page_options(texts, stereotypical=drawn.stereotypical),
                    strata=unit_strata,
                )

    return Plan(units=units, notes=tuple(notes), image_set=images)


def _check_sizes(images: ImageSet, groups: Iterable[int], *, key: str) -> None:
    """Raise StudyRefused if images are known by their embeddings alone: nobody could see them, and boxes need
    a size."""
    unknown = Image.objects.filter(image_set=images, group__in=groups, width=0).count()
    if unknown:
        raise StudyRefused(
            _(
                "'%(set)s' has %(number)s images without a file and of unknown size, which cannot be shown. "
                "Import their files, or choose another image set."
            ),
            key=key,
            set=images.name,
            number=unknown,
        )


def page_options(texts: Sequence[str], *, stereotypical: Sequence[str]) -> tuple[PlannedOption, ...]:
    """The options of a page: its attributes with their roles, then none of the above."""
    roles = dict.fromkeys(stereotypical, OptionRole.STEREOTYPICAL)
    return (
        *(PlannedOption(text, role=roles.get(text, OptionRole.RANDOM)) for text in texts),
        PlannedOption(None, role=OptionRole.NONE_OF_ABOVE),
    )


def _name(group: IdentityGroup) -> str:
    """Names the group in every database, unlike its primary key."""
    return f"{group.axis}/{group.name}"


def _groups(images: ImageSet, *, key: str) -> dict[str, IdentityGroup]:
    groups: dict[str, IdentityGroup] = {}
    for group in IdentityGroup.objects.filter(images__image_set=images).distinct():
        if group.name in groups:
            raise StudyRefused(
                _(
                    "'%(set)s' shows two groups named '%(group)s' on different axes. "
                    "Rename one of them in the administration."
                ),
                key=f"{key}.image_set",
                set=images.name,
                group=group.name,
            )
        groups[group.name] = group
    if not groups:
        raise StudyRefused(
            _("'%(set)s' has no images. Add some first."), key=f"{key}.image_set", set=images.name
        )
    return groups


def _draw(
    task: TaskFile,
    pages: PageDraw,
    *,
    file: StudyFile,
    source: Source | None,
    groups: Mapping[str, IdentityGroup],
    key: str,
    notes: list[str],
) -> dict[str, GroupDraw]:
    _check_groups(pages.groups, groups=groups, key=f"{key}.groups")
    if source is None:
        raise StudyRefused(
            f"stereotypes are drawn from a source. Set {_SOURCE_KEY}.",
            key=key,
            page_message=_("Stereotypes are drawn from a resource. Fill in %(rule)s."),
            rule=KeyPath(_SOURCE_KEY),
        )
    visual = _visual_attributes(pages.visual, source=source, key=f"{key}.visual")
    known = draws.associations_by_group(
        source=source, pool=file.stereotype_pool, threshold=file.stereotype_threshold
    )
    drawn: dict[str, GroupDraw] = {}
    for name in sorted(pages.groups or groups):
        associations = known.get(groups[name].pk, draws.GroupAssociations())
        drawn[name] = draws.draw(
            seed=task.seed,
            group=_name(groups[name]),
            stereotypical=associations.stereotypes,
            visual=visual,
            associated=associations.associated,
        )
    shown = {name: each for name, each in drawn.items() if each.stereotypical}
    if not shown:
        raise StudyRefused(
            f"no group of the image set has a visual stereotype in '%(source)s' with at least %(votes)s "
            f"votes of the {Pool(file.stereotype_pool).label} annotators. Lower %(threshold)s, or use "
            "another source.",
            key=key,
            page_message=_(
                "No group of the image set has a visual stereotype in '%(source)s' with at least %(votes)s "
                "votes. Lower %(threshold)s, or choose another resource in %(rule)s."
            ),
            source=source.name,
            votes=file.stereotype_threshold,
            threshold=KeyPath("stereotypes.threshold"),
            rule=KeyPath(_SOURCE_KEY),
        )
    lacking = [
        f"'{name}' ({len(each.stereotypical)} needed, {len(each.random)} available)"
        for name, each in shown.items()
        if each.shortfall > 0
    ]
    if lacking and not pages.allow_fewer:
        raise StudyRefused(
            "too few visual attributes that are not associated with the group to draw as many random ones as "
            "it has stereotypes: %(lacking)s. Widen %(visual)s, leave those groups out with groups = [...], "
            "or write allow_fewer = true.",
            key=key,
            page_message=_(
                "There are too few visual attributes that are not associated with the group to draw as many "
                "random ones as it has stereotypes: %(lacking)s. Widen %(visual)s, leave those groups out in "
                "%(groups)s, or choose %(fewer)s."
            ),
            lacking="; ".join(lacking),
            visual=KeyPath(f"{key}.visual"),
            groups=KeyPath(f"{key}.groups"),
            fewer=KeyPath(f"{key}.allow_fewer"),
        )
    if lacking:
        notes.append(f"Fewer random attributes than stereotypes: {'; '.join(lacking)}.")
    left_out = sorted(set(drawn) - set(shown))
    if left_out:
        notes.append(f"No visual stereotypes, so no pages: {quoted_list(left_out)}.")
    return shown


def _visual_attributes(visual: str | tuple[str, ...] | None, *, source: Source, key: str) -> set[str]:
    if visual is None:
        return draws.source_attributes(source=source)
    if not isinstance(visual, str):
        return set(visual)
    study = rows_named(Study.objects.filter(name=visual), "name", [visual], key)[0]
    if not study.tasks.filter(kind=TaskKind.VISUAL_NATURE).exists():
        raise StudyRefused(
            "the study '%(study)s' has not asked which attributes are visual. "
            "Name one with a visual_nature task.",
            key=key,
            page_message=_(
                "The study '%(study)s' has not asked which attributes are visual. Choose another."
            ),
            study=visual,
        )
    attributes = draws.visual_attributes(study=study)
    if not attributes:
        raise StudyRefused(_("the study '%(study)s' has no visual attributes yet."), key=key, study=visual)
    return attributes


def _check_groups(names: Iterable[str], *, groups: Mapping[str, IdentityGroup], key: str) -> None:
    for name in names:
        if name not in groups:
            raise StudyRefused(
                _("the image set has no images of the group '%(group)s'. It shows: %(groups)s."),
                key=key,
                group=name,
                groups=quoted_list(sorted(groups)),
            )
