"""Builders of test data: plain functions that return saved rows. Only tests may create rows like this."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import uuid4

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.utils import timezone

from annotation.core import scales
from annotation.models import (
    Annotator,
    Association,
    Attribute,
    Consent,
    ConsentText,
    Enrolment,
    EnrolmentStatus,
    IdentityGroup,
    Image,
    ImageSet,
    Judgement,
    Option,
    OptionRole,
    ProfileAnswer,
    Response,
    Slot,
    SlotState,
    Source,
    Study,
    StudyStatus,
    Task,
    TaskKind,
    Unit,
)

# always of as many digits: whoever sorts names finds these in the order they were made
_numbers = itertools.count(1_000_001)


def user(username: str | None = None, *, admin: bool = False, lead: bool = False):
    """An account; a `lead` may set studies up."""
    username = username or f"user{next(_numbers)}"
    made = get_user_model().objects.create_user(
        username, password="a-long-password", is_superuser=admin, is_staff=admin
    )
    if lead:
        made.user_permissions.add(Permission.objects.get(codename="add_study"))
    return made


def recipe_hash() -> str:
    """The hash of the recipe of a run, as no other run has it."""
    return f"{next(_numbers):064x}"


def source(name: str = "test-source") -> Source:
    return Source.objects.get_or_create(name=name, defaults={"title": name})[0]


def group(name: str = "Mexican", **fields) -> IdentityGroup:
    return IdentityGroup.objects.get_or_create(name=name, defaults={"demonym": name, **fields})[0]


def attribute(text: str | None = None) -> Attribute:
    return Attribute.objects.get_or_create(text=text or f"attribute {next(_numbers)}")[0]


def attributes(texts: Sequence[str]) -> list[Attribute]:
    """The attribute of each text, in two statements."""
    known = Attribute.objects.in_bulk(texts, field_name="text")
    missing = [Attribute(text=text) for text in dict.fromkeys(texts) if text not in known]
    known.update((made.text, made) for made in Attribute.objects.bulk_create(missing))
    return [known[text] for text in texts]


def association(
    *,
    group_name: str = "Mexican",
    text: str | None = None,
    in_votes=(2, 1, 0),
    out_votes=(2, 1, 0),
    ratings=(),
    mean: float | None = None,
    from_source: Source | None = None,
) -> Association:
    out = out_votes or (None, None, None)
    return Association.objects.create(
        source=from_source or source(),
        group=group(group_name),
        attribute=attribute(text),
        in_stereotypical=in_votes[0],
        in_nonstereotypical=in_votes[1],
        in_unsure=in_votes[2],
        out_stereotypical=out[0],
        out_nonstereotypical=out[1],
        out_unsure=out[2],
        offensiveness=list(ratings),
        offensiveness_mean=mean,
    )


def image_set(name: str = "test-set") -> ImageSet:
    return ImageSet.objects.get_or_create(name=name, defaults={"title": name})[0]


def image(
    *, group_name: str = "Mexican", index: int = 1, width: int = 512, height: int = 512, **fields
) -> Image:
    return Image.objects.create(
        image_set=fields.pop("image_set", None) or image_set(),
        group=group(group_name),
        index=index,
        width=width,
        height=height,
        reference=fields.pop("reference", f"{group_name}{index}.png"),
        **fields,
    )


def images(indexes: Iterable[int], *, group_name: str = "Mexican", of: ImageSet | None = None) -> list[Image]:
    """One image of each index, in a few statements."""
    shared = {"image_set": of or image_set(), "group": group(group_name), "width": 512, "height": 512}
    return Image.objects.bulk_create(
        Image(index=index, reference=f"{group_name}{index}.png", **shared) for index in indexes
    )


def study(name: str | None = None, *, status: str = StudyStatus.OPEN, leads=(), **fields) -> Study:
    name = name or f"study-{next(_numbers)}"
    now = timezone.now()
    made = Study.objects.create(
        name=name,
        title=fields.pop("title", name),
        status=status,
        opened_at=None if status == StudyStatus.DRAFT else now,
        closed_at=now if status == StudyStatus.CLOSED else None,
        **fields,
    )
    made.leads.set(leads)
    return made


def lead_of(*image_sets: str):
    """The lead of a study that shows these image sets, who may not set one up."""
    lead = user()
    of = study(leads=[lead])
    for version, name in enumerate(image_sets, start=1):
        task(of, kind=TaskKind.DEPICTION, image_set=image_set(name), version=version)
    return lead


def consent_text(of: Study, *, version: int = 1) -> ConsentText:
    return ConsentText.objects.create(
        study=of, version=version, text="What taking part means.", content_warning="Care."
    )


def task(
    of: Study | None = None, *, kind: str = TaskKind.VISUAL_NATURE, strata=("any", "any", "any"), **fields
) -> Task:
    return Task.objects.create(
        study=of or study(),
        kind=kind,
        wording=fields.pop("wording", "The attribute '[attr]' can be visually depicted in an image."),
        overlap=len(strata),
        strata=list(strata),
        **fields,
    )


def attribute_unit(of: Task, text: str | None = None, **fields) -> Unit:
    """A visual-nature unit with its one option and its open slots, at the end of the task's queue."""
    made = Unit.objects.create(task=of, position=of.units.count() + 1, attribute=attribute(text), **fields)
    Option.objects.create(unit=made, attribute=made.attribute, role=OptionRole.STIMULUS, position=1)
    open_slots(made)
    return made


def attribute_units(of: Task, texts: Sequence[str] | int) -> list[Unit]:
    """What calls of `attribute_unit` make of these texts, or of so many, for the one task of a new study: in
    a few statements."""
    if isinstance(texts, int):
        texts = [f"attribute {next(_numbers)}" for _ in range(texts)]
    units = Unit.objects.bulk_create(
        Unit(task=of, position=position, attribute=each)
        for position, each in enumerate(attributes(texts), start=1)
    )
    Option.objects.bulk_create(
        Option(unit=each, attribute=each.attribute, role=OptionRole.STIMULUS, position=1) for each in units
    )
    open_slots(*units)
    return units


TEXTS = ("hat", "sombrero", "poor", "kind")


def page_unit(of: Task, *, picture: Image, page: int = 1, texts=TEXTS) -> Unit:
    """A depiction unit: one page of attributes and none of the above, with open slots."""
    return page_units(of, [(picture, texts)], page=page)[0]


def page_units(of: Task, shown: Iterable[tuple[Image, Sequence[str]]], *, page: int = 1) -> list[Unit]:
    """One of each image and its attributes, in a few statements."""
    shown = list(shown)
    known = {one.text: one for one in attributes([text for _, texts in shown for text in texts])}
    units = Unit.objects.bulk_create(
        Unit(task=of, position=position, image=picture, page=page)
        for position, (picture, _) in enumerate(shown, start=of.units.count() + 1)
    )
    options = []
    for unit, (_, texts) in zip(units, shown, strict=True):
        options += [
            Option(unit=unit, attribute=known[text], role=OptionRole.UNASSIGNED, position=position)
            for position, text in enumerate(texts, 1)
        ]
        options.append(Option(unit=unit, role=OptionRole.NONE_OF_ABOVE, position=len(texts) + 1))
    Option.objects.bulk_create(options)
    open_slots(*units)
    return units


def open_slots(*units: Unit) -> list[Slot]:
    """The slots of units of one study, at the end of its queue."""
    places = [(unit, index, stratum) for unit in units for index, stratum in enumerate(unit.task.strata)]
    study = {unit.task.study_id for unit in units}
    return Slot.objects.bulk_create(
        Slot(study=unit.task.study, unit=unit, index=index, stratum=stratum, queue=queue)
        for queue, (unit, index, stratum) in enumerate(
            places, start=Slot.objects.filter(study__in=study).count() + 1
        )
    )


def annotator(*, profile: dict[str, str] | None = None, **fields) -> Annotator:
    made = Annotator.objects.create(pseudonym=fields.pop("pseudonym", f"a-{next(_numbers)}"), **fields)
    for field, value in (profile or {}).items():
        ProfileAnswer.objects.create(annotator=made, field=field, value=value)
    return made


def annotators(number: int) -> list[Annotator]:
    """So many without a profile, in one statement."""
    return Annotator.objects.bulk_create(Annotator(pseudonym=f"a-{next(_numbers)}") for _ in range(number))


def enrolment(of: Study, *, who: Annotator | None = None, consented: bool = False, **fields) -> Enrolment:
    who = who or annotator(**fields)
    if consented:
        text = of.consent_texts.order_by("-version").first() or consent_text(of)
        Consent.objects.create(annotator=who, text=text, given_at=timezone.now())
    return Enrolment.objects.create(annotator=who, study=of, status=EnrolmentStatus.QUALIFIED)


def response(
    of: Unit, *, values: Sequence[int] | None = None, who: Annotator | None = None, justification="", **fields
) -> Response:
    """A current response that fills the unit's next open slot; one value an option (default: all 0,
    or the first label of the scale)."""
    slot = of.slots.filter(state=SlotState.OPEN).order_by("index").first()
    assert slot is not None, "the unit has no open slot left"
    Slot.objects.filter(pk=slot.pk).update(state=SlotState.FILLED, annotator=who)
    made = _response(of, slot, who, **fields)
    made.save(force_insert=True)
    options = of.options.order_by("position")
    Judgement.objects.bulk_create(_judgements(made, list(options), values, justification))
    return made


def responses(said: Iterable[tuple[Unit, Sequence[int] | None, Annotator | None]]) -> None:
    """Many of them in a few statements: of each the unit, the values and who gave them."""
    said = list(said)
    units = {unit.pk for unit, _, _ in said}
    slots, options, filled = defaultdict(list), defaultdict(list), defaultdict(list)
    for slot in Slot.objects.filter(unit__in=units, state=SlotState.OPEN).order_by("unit", "-index"):
        slots[slot.unit_id].append(slot)
    for option in Option.objects.filter(unit__in=units).order_by("unit", "position"):
        options[option.unit_id].append(option)
    made, judgements = [], []
    for unit, values, who in said:
        assert slots[unit.pk], "the unit has no open slot left"
        slot = slots[unit.pk].pop()
        filled[who].append(slot.pk)
        made.append(_response(unit, slot, who))
        judgements += _judgements(made[-1], options[unit.pk], values)
    for who, places in filled.items():
        Slot.objects.filter(pk__in=places).update(state=SlotState.FILLED, annotator=who)
    Response.objects.bulk_create(made)
    Judgement.objects.bulk_create(judgements)


def _response(of: Unit, slot: Slot, who: Annotator | None, **fields) -> Response:
    now = timezone.now()
    usual = {"task_version": of.task.version, "started_at": now, "submitted_at": now, "active_ms": 1500}
    return Response(unit=of, slot=slot, annotator=who, client_key=uuid4(), **(usual | fields))


def _judgements(of: Response, options, values, justification: str = "") -> list[Judgement]:
    kind = of.unit.task.kind
    default = 0 if kind == TaskKind.DEPICTION else scales.SCALES[kind][0].value
    return [
        Judgement(
            response=of, option=option, value=value, position=option.position, justification=justification
        )
        for option, value in zip(options, values or [default] * len(options), strict=True)
    ]


def rating_study(*, texts=("sombrero", "kind", "poor"), strata=("any", "any", "any"), **fields) -> Study:
    """An open visual-nature study as open_study makes it: consent text, task, units, slots."""
    made = study(contact=fields.pop("contact", "studies@example.org"), **fields)
    consent_text(made)
    of = task(made, strata=strata)
    if texts:
        attribute_units(of, texts)
    return made
