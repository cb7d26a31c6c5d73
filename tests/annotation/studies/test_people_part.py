"""Studies whose people judge a random part: the draw, its slots, and what counts work."""

from collections import Counter

import pytest
from django.utils import timezone

from annotation.models import Image, Purpose, Slot, SlotState, Study, Unit
from annotation.participation.queries import enrolments
from annotation.setup.forms.tasks import TasksForm
from annotation.studies.errors import StudyFileError, StudyRefused
from annotation.studies.queries import fill
from annotation.studies.services import feasibility, studies, study_files
from annotation.studies.study_file.reading import read_study_text
from annotation.studies.study_file.writing import study_toml
from annotation.studies.units.people_part import draw_people_part
from metrics.dashboards.queries.progress import count_progress
from metrics.planning.queries import Planned, initial
from tests import factories
from tests.annotation.api.calls import Program
from tests.annotation.studies import world as study_world
from tests.annotation.studies.world import DEPICTION, PREVALENCE

pytestmark = pytest.mark.django_db

WORDS = '\n[[tasks]]\nkind = "visual_nature"\nseed = 3\nattributes = ["a", "b", "c", "d", "e", "f", "g"]\n'


def with_share(task: str, share: str = "0.5") -> str:
    return task.replace("seed =", f"people_share = {share}\nseed =")


@pytest.fixture(scope="module")
def made_world(once):
    once(lambda: study_world.everything(each=6))


@pytest.fixture
def world(made_world, db):
    """What the files name."""


def made(*tasks: str, name: str = "whole") -> Study:
    text = (study_world.HEAD + "".join(tasks)).replace('"whole"', f'"{name}"')
    return studies.apply_file(file=read_study_text(text), by=None).study


def layout(study: Study) -> list[tuple]:
    return list(
        Unit.objects.filter(task__study=study)
        .order_by("task", "position", "options__position")
        .values_list(
            "task__kind", "position", "page", "repeat", "purpose", "attribute", "association", "image",
            "options__attribute__text", "options__role", "options__position",
        )
    )  # fmt: skip


def judged_images(study: Study) -> set[tuple[str, int]]:
    shown = Image.objects.filter(units__slots__study=study)
    return set(shown.values_list("group__name", "index"))


STIMULI = [(group, f"{group} {number}") for group in "xyz" for number in range(10)]


@pytest.mark.parametrize(
    ("number", "share", "drawn"), [(10, 0.2, 2), (10, 0.26, 3), (7, 0.5, 4), (3, 0.01, 1), (2, 0.9, 2)]
)
def test_of_each_group_so_many_are_drawn(number, share, drawn):
    stimuli = [(group, (group, place)) for group in "xy" for place in range(number)]
    part = draw_people_part(stimuli, share=share, seed=1)
    assert Counter(group for group, _ in part) == {"x": drawn, "y": drawn}


def test_the_draw_is_the_seeds_alone_and_each_group_has_its_own():
    part = draw_people_part(STIMULI, share=0.3, seed=1)
    assert part == draw_people_part(STIMULI, share=0.3, seed=1)
    assert part != draw_people_part(STIMULI, share=0.3, seed=2)
    assert {key for key in part if key[0] != "x"} == draw_people_part(STIMULI[10:], share=0.3, seed=1)
    places = [{key[2:] for key in part if key[0] == group} for group in "xyz"]
    assert places[0] != places[1] or places[1] != places[2], "groups are drawn one by one"
    assert draw_people_part(STIMULI, share=None, seed=1) is None


def test_every_stimulus_is_as_likely_as_the_others():
    counts = Counter(key for seed in range(2000) for key in draw_people_part(STIMULI, share=0.3, seed=seed))
    assert len(counts) == 30
    assert all(500 < count < 700 for count in counts.values())  # 600, sd 20


def test_whole_images_have_slots_and_nothing_else_changes(world):
    study, all_of_it = made(with_share(DEPICTION)), made(DEPICTION, name="all")

    assert layout(study) == layout(all_of_it)
    part = judged_images(study)
    assert Counter(group for group, _ in part) == {"Mexican": 3, "French": 3, "Nepali": 3}
    strata = ["any", "any", "gender: not male"]
    pages = Unit.objects.filter(task__study=study).select_related("image__group")
    assert pages.filter(page=2).exists(), "an image of several pages is part of the test"
    for page in pages:
        found = list(page.slots.order_by("index").values_list("stratum", flat=True))
        assert found == (strata if (page.image.group.name, page.image.index) in part else [])
    task = study.tasks.get()
    assert task.people_units == pages.filter(slots__isnull=False).distinct().count() < pages.count()
    queue = Slot.objects.filter(study=study).order_by("queue").values_list("queue", "unit__position")
    assert [number for number, _ in queue] == [*range(1, 3 * task.people_units + 1)]
    assert [position for _, position in queue] == sorted(position for _, position in queue)
    assert all_of_it.tasks.get().people_units is None
    assert Slot.objects.filter(study=all_of_it).count() == 3 * pages.count()


def test_the_part_is_the_same_in_a_database_that_was_filled_in_another_order(world):
    image_set = factories.image_set("backwards")
    for group in reversed(study_world.RESOURCE):
        for index in range(6, 0, -1):
            factories.image(
                group_name=group, index=index, image_set=image_set, file="images/x.png", sha256="0" * 64
            )
    study = made(with_share(DEPICTION))
    other = made(with_share(DEPICTION).replace('"pictures"', '"backwards"'), name="other")
    assert judged_images(other) == judged_images(study)


def test_a_group_more_does_not_change_the_part_of_the_others(world):
    two = made(with_share(DEPICTION).replace('"seen"', '"seen", groups = ["Mexican", "Nepali"]'), name="two")
    assert judged_images(two) == {
        each for each in judged_images(made(with_share(DEPICTION))) if each[0] != "French"
    }


def test_associations_are_drawn_from_each_group_and_attributes_from_all(world):
    study = made(with_share(PREVALENCE), with_share(WORDS))
    assert layout(study) == layout(made(PREVALENCE, WORDS, name="all"))
    judged = Unit.objects.filter(slots__study=study).distinct()
    groups = judged.filter(association__isnull=False).values_list("association__group__name", flat=True)
    # of 4, 3 and 3 associations: half, where 1.5 rounds to 2
    assert Counter(groups) == {"Mexican": 2, "French": 2, "Nepali": 2}
    words = set(judged.filter(attribute__isnull=False).values_list("attribute__text", flat=True))
    assert len(words) == 4
    listed = made(
        with_share(WORDS).replace('["a", "b"', '["b", "a"').replace('"f", "g"', '"g", "f"'), name="listed"
    )
    assert words == set(Unit.objects.filter(slots__study=listed).values_list("attribute__text", flat=True)), (
        "the order of a list does not matter"
    )
    other = made(with_share(WORDS).replace("seed = 3", "seed = 4"), name="other")
    judged = Unit.objects.filter(slots__study=other)
    assert words != set(judged.values_list("attribute__text", flat=True))


CHECKS = '\n[[tasks.training]]\nattribute = "z"\nexpected = ["Agree"]\n[[tasks.gold]]\nattribute = "a"\n'
CHECKS += 'expected = ["Agree"]\n'


def test_check_items_are_none_of_the_part(world):
    study = made(with_share(WORDS) + CHECKS)
    checks = Unit.objects.filter(task__study=study).exclude(purpose=Purpose.DATA)
    assert list(checks.order_by("position").values_list("purpose", "position", "slots")) == [
        ("training", 8, None),
        ("gold", 9, None),
    ]
    assert study.tasks.get().people_units == 4


def test_a_study_made_from_its_own_file_has_the_same_part(world):
    whole = [with_share(DEPICTION), with_share(PREVALENCE.replace('"votes"', '"votes", limit = 8')), WORDS]
    study = made(*whole)
    text = study_files.to_toml(study=study)
    assert text.count("people_share = 0.5\n") == 2
    assert study_files.round_trip_problems(study=study) == []

    again = studies.apply_file(file=read_study_text(text.replace('"whole"', '"again"')), by=None).study

    def slots(one):
        return list(one.slots.order_by("queue").values_list("unit__task__kind", "unit__position", "stratum"))

    assert slots(again) == slots(study)
    file = read_study_text(study_world.HEAD + "".join(whole))
    assert read_study_text(study_toml(file)) == file


def test_another_share_is_another_study(world):
    study = made(with_share(DEPICTION))
    outcome = studies.apply_file(
        file=read_study_text(study_world.HEAD + with_share(DEPICTION)), by=None
    ).outcome
    assert outcome == "unchanged"
    made(with_share(DEPICTION, "0.2"))
    assert len(judged_images(Study.objects.get(name="whole"))) == 3
    Study.objects.filter(pk=study.pk).update(status="open", opened_at=timezone.now())
    for other in (with_share(DEPICTION), DEPICTION):
        with pytest.raises(StudyRefused, match=r"now differs in tasks\[1\]\.people_share\."):
            made(other)


@pytest.mark.parametrize(
    ("share", "says"),
    [
        *(
            (value, "above 0 and below 1")
            for value in ("0", "1", "-0.2", "20", "nan", "inf", "true", '"0.2"')
        ),
        ("0.12345", "has more than four decimal places"),
    ],
)
def test_a_share_that_is_none_is_refused(share, says):
    with pytest.raises(StudyFileError, match=rf"tasks\[1\]\.people_share = .* {says}"):
        read_study_text(study_world.HEAD + with_share(WORDS, share))


def test_what_counts_work_counts_the_part(world):
    study = made(with_share(WORDS) + CHECKS)
    task = study.tasks.get()
    Study.objects.filter(pk=study.pk).update(gold_rate=0.5)
    study.refresh_from_db()
    assert fill.units_by_strata(task=task) == [(("any",) * 3, 4)]
    assert enrolments.total_units(study_id=study.pk) == 4 + 1  # one gold item
    for _ in range(3):
        factories.enrolment(study, who=factories.annotator())
    found = feasibility.report(study=study)
    assert (found.feasible, [(rate.wanted, rate.open) for rate in found.rates]) == (True, [(12, 12)])
    (warning,) = found.warnings
    assert "(4) needs 2. There are 1" in warning


def test_strata_by_region_are_counted_in_the_part(world):
    study = made(with_share(PREVALENCE))
    numbers = [number for _, number in fill.units_by_strata(task=study.tasks.get())]
    assert numbers == [2, 2, 2]


def test_progress_is_complete_when_the_part_is_filled(world):
    study = made(with_share(DEPICTION))
    Study.objects.filter(pk=study.pk).update(status="open", opened_at=timezone.now())
    assert count_progress(study, now=timezone.now()).total.percent == 0
    assert enrolments.has_unfilled_slots(study=study)
    Slot.objects.filter(study=study).update(state=SlotState.FILLED)
    done = count_progress(study, now=timezone.now())
    assert (done.total.percent, done.total.wanted) == (100, 3 * study.tasks.get().people_units)
    assert not enrolments.has_unfilled_slots(study=study)


def test_planning_begins_with_the_images_that_people_judge(world):
    def images(study):
        return initial(Planned(study.name, study.title, study, {}))["images"]

    assert images(made(with_share(DEPICTION))) == 3
    assert images(made(DEPICTION, name="all")) == 6


def test_the_api_says_the_share_and_what_is_wanted(world):
    study = made(with_share(WORDS))
    lead = factories.user("lead", lead=True)
    study.leads.add(lead)
    program = Program(lead)
    (task,) = program.get("studies/whole/tasks").json()["results"]
    assert task["people_share"] == 0.5
    units = program.get("studies/whole/units").json()["results"]
    assert Counter(unit["wanted"] for unit in units) == {3: 4, 0: 3}
    assert program.get("studies/whole/setup").json()["tasks"][0]["people_share"] == 0.5


DOCUMENT = {
    "name": "words",
    "title": "Words",
    "contact": "studies@example.org",
    "consent": {"text": "What taking part means."},
    "tasks": [{"kind": "visual_nature", "attributes": ["a", "b", "c", "d"], "strata": ["any"], "seed": 1}],
}


def shared(value) -> dict:
    return {**DOCUMENT, "tasks": [{**DOCUMENT["tasks"][0], "people_share": value}]}


def test_the_api_takes_the_share_and_refuses_one_that_is_none():
    program = Program(factories.user("maker", lead=True))
    answer = program.post("studies", shared(0.5))
    assert (answer.status_code, answer.json()["units"], answer.json()["slots"]) == (201, 4, 2)
    refused = program.post("studies", shared(1.5))
    assert refused.status_code == 422
    assert "people_share = 1.5 is not a number above 0 and below 1" in refused.json()["detail"]
    changed = program.post("studies", shared(0.25)).json()
    assert (changed["outcome"], changed["slots"]) == ("remade", 1)
    assert program.post("studies", DOCUMENT).json()["slots"] == 4


FIELDS = {"visual_nature_strata": "any", "visual_nature_seed": "1"}


@pytest.mark.parametrize(
    ("typed", "share"), [("20", 0.2), ("12.34", 0.1234), ("7", 0.07), ("0.01", 0.0001), ("", None)]
)
def test_the_page_takes_the_share_in_per_cent_and_shows_it_again(typed, share):
    form = TasksForm(DOCUMENT, {**FIELDS, "visual_nature_people_share": typed})
    assert form.is_valid(), form.errors
    document = form.updated_document()
    assert document["tasks"][0].get("people_share") == share
    shown = TasksForm(document)["visual_nature_people_share"]
    assert (shown.value() or "") == typed
    help_text = str(shown.help_text)
    assert help_text.startswith("Only if a machine judge is to answer everything: people judge this share")
    assert form.field_for("tasks[1].people_share") == "visual_nature_people_share"


@pytest.mark.parametrize("typed", ["0", "100", "-5", "half", "0.005"])
def test_the_page_refuses_what_is_no_share(typed):
    form = TasksForm(DOCUMENT, {**FIELDS, "visual_nature_people_share": typed})
    assert list(form.errors) == ["visual_nature_people_share"]


def test_people_see_how_much_of_the_part_is_left(world, client):
    study = made(with_share(WORDS))
    Study.objects.filter(pk=study.pk).update(status="open", opened_at=timezone.now())
    user = factories.user("amal")
    client.force_login(user)
    factories.enrolment(study, who=factories.annotator(user=user), consented=True)
    assert "0 of 4 rated" in client.get("/studies/whole/annotate/").text
