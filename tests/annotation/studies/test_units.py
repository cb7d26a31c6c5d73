"""The units of the five kinds of tasks, their slots, and the items whose right answer is known."""

import pytest
from django.core.management import call_command

from annotation.models import Association, IdentityGroup, OptionRole, Purpose, Slot, Study, Unit
from annotation.studies.errors import StudyFileError, StudyRefused
from annotation.studies.services import studies
from annotation.studies.services.study_plan import check_stratum
from annotation.studies.study_file.reading import read_study_text
from tests import factories
from tests.annotation.studies import world as study_world
from tests.annotation.studies.world import DEPICTION, PREVALENCE

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_world(once):
    once(study_world.everything)


@pytest.fixture(autouse=True)
def world(made_world, db):
    """What the files name."""


def made(*tasks: str) -> Study:
    return studies.apply_file(file=read_study_text(study_world.HEAD + "".join(tasks)), by=None).study


def refusal(*tasks: str) -> str:
    with pytest.raises(StudyRefused) as error:
        made(*tasks)
    assert not Study.objects.filter(name="whole").exists()
    return str(error.value)


OFFENSIVENESS = """
[[tasks]]
kind = "offensiveness"
overlap = 1
attributes = ["poor", "kind"]
"""


def test_prevalence_asks_three_people_in_the_region_and_three_out_of_it():
    study = made(PREVALENCE)

    units = list(Unit.objects.filter(task__study=study).select_related("association__group"))
    assert {unit.association_id for unit in units} == set(Association.objects.values_list("pk", flat=True))
    for unit in units:
        region = unit.association.group.region
        assert list(unit.slots.order_by("index").values_list("stratum", flat=True)) == [
            *[f"residence: {region}"] * 3,
            *[f"identity_region: {region} and residence: North America"] * 3,
        ]
        (option,) = unit.options.all()
        assert (option.role, option.attribute_id) == (OptionRole.STIMULUS, unit.association.attribute_id)
    assert study.tasks.get().slot_strata == sorted(
        set(Slot.objects.filter(study=study).values_list("stratum", flat=True))
    )


def test_offensiveness_is_asked_of_attributes_or_of_associations():
    study = made(OFFENSIVENESS)
    assert set(study.tasks.get().units.values_list("attribute__text", flat=True)) == {"poor", "kind"}
    assert "[id]" not in study.tasks.get().wording

    text = OFFENSIVENESS.replace(
        'attributes = ["poor", "kind"]', 'associations = { source = "votes", limit = 4 }'
    )
    other = studies.apply_file(
        file=read_study_text((study_world.HEAD + text).replace('"whole"', '"other"')), by=None
    ).study
    assert other.tasks.get().units.filter(association__isnull=False).count() == 4
    assert "[id]" in other.tasks.get().wording


def test_bias_is_asked_of_associations_and_of_three_people_wherever_they_are():
    IdentityGroup.objects.update(region="")
    task = made(PREVALENCE.replace("prevalence", "association")).tasks.get()
    assert task.wording == "How biased is it to associate '[id]' with '[attr]'?"
    assert set(task.units.values_list("association_id", flat=True)) == set(
        Association.objects.values_list("pk", flat=True)
    )
    assert task.strata == task.units.first().task.strata == ["any"] * 3
    only_attributes = OFFENSIVENESS.replace("offensiveness", "association")
    with pytest.raises(StudyFileError, match=r"tasks\[1\].associations"):
        read_study_text(study_world.HEAD + only_attributes)
    without_group = PREVALENCE.replace('"prevalence"', '"association"\nwording = "Is [attr] biased?"')
    with pytest.raises(StudyFileError, match=r"does not contain '\[id\]'"):
        read_study_text(study_world.HEAD + without_group)


def test_the_slots_of_several_tasks_queue_one_behind_the_other():
    study = made(OFFENSIVENESS, PREVALENCE)
    rows = list(Slot.objects.filter(study=study).order_by("queue").values_list("queue", "unit__task__kind"))
    assert [queue for queue, _ in rows] == list(range(1, 2 + 10 * 6 + 1))
    assert [kind for _, kind in rows] == ["offensiveness"] * 2 + ["prevalence"] * 60


def test_groups_and_pairs_choose_associations():
    chosen = PREVALENCE.replace('"votes" }', '"votes", groups = ["French"] }')
    assert set(made(chosen).tasks.get().units.values_list("association__attribute__text", flat=True)) == {
        "beret", "chic", "romantic",
    }  # fmt: skip
    listed = PREVALENCE.replace('"votes" }', '"votes", pairs = [["Nepali", "Poor"], ["French", "chic"]] }')
    studies.apply_file(file=read_study_text(study_world.HEAD + listed), by=None)
    units = Unit.objects.filter(task__study__name="whole")
    assert set(units.values_list("association__group__name", "association__attribute__text")) == {
        ("Nepali", "poor"),
        ("French", "chic"),
    }


def test_the_group_of_a_pair_is_found_in_any_case_but_first_as_it_is_spelled():
    row = Association.objects.get(group__name="French", attribute__text="chic")
    row.pk, row.group = None, IdentityGroup.objects.create(name="french", region="Europe")
    row.save()
    listed = PREVALENCE.replace('"votes" }', '"votes", pairs = [["nepali", "poor"], ["french", "chic"]] }')
    units = made(listed).tasks.get().units
    assert set(units.values_list("association__group__name", flat=True)) == {"Nepali", "french"}


def test_groups_without_a_region_are_refused_by_name_where_it_is_needed():
    IdentityGroup.objects.filter(name="French").update(region="")
    message = refusal(PREVALENCE)
    assert (
        "tasks[1].strata asks for in-region or out-region annotators, but the region of 'French'" in message
    )
    assert "groups" in message

    in_region = DEPICTION.replace('["any", "any", "gender: not male"]', '["in-region"]')
    assert "the region of 'French' is unknown" in refusal(in_region)
    made(PREVALENCE.replace('"votes" }', '"votes", groups = ["Nepali"] }'))


@pytest.mark.parametrize(
    ("task", "old", "new", "message"),
    [
        (OFFENSIVENESS, "overlap = 1", 'strata = ["in-region"]', "'in-region' is for units about an"),
        (PREVALENCE, '"votes"', '"vote"', "associations.source: there is no source 'vote'"),
        (PREVALENCE, '"votes"', '"empty"', "'empty' has no associations. Import it first."),
        (PREVALENCE, '"votes"', '"votes", limit = 99', "limit = 99, but there are 10 associations"),
        (PREVALENCE, '"votes"', '"votes", groups = ["Thai"]', "no associations of the group 'Thai'"),
        (PREVALENCE, '"votes"', '"votes", pairs = [["Thai", "kind"]]', "no association 'Thai: kind'"),
        (
            PREVALENCE,
            '"votes"',
            '"votes", pairs = [["T", "z"], ["T", "b"], ["Q", "c"], ["L", "d"], ["A", "e"]]',
            "'A: e', 'L: d', 'Q: c', 'T: b', 'T: z'.",
        ),
        (DEPICTION, '"pictures"', '"paintings"', "image_set: there is no image set 'paintings'"),
        (DEPICTION, '"seen"', '"saw"', "attributes.visual: there is no study 'saw'"),
        (DEPICTION, '"seen"', '"unasked"', "'unasked' has not asked which attributes are visual"),
        (DEPICTION, '"seen"', '"unanswered"', "'unanswered' has no visual attributes yet"),
        (DEPICTION, '"seen"', '"seen", groups = ["Thai"]', "the image set has no images of the group 'Thai'"),
        (DEPICTION, '"pictures"', '"bare"', "'bare' has no images"),
    ],
)  # fmt: skip
def test_what_a_task_names_must_be_there(task, old, new, message):
    factories.source("empty")
    factories.image_set("bare")
    factories.task(factories.study("unasked"), kind="prevalence")
    factories.rating_study(name="unanswered")
    assert old in task
    assert message in refusal(task.replace(old, new))


def test_an_ambiguous_group_name_in_pairs_is_refused():
    other = IdentityGroup.objects.create(name="French", axis="other", demonym="French", region="Europe")
    row = Association.objects.get(group__name="French", attribute__text="chic")
    row.pk, row.group = None, other
    row.save()
    listed = PREVALENCE.replace('"votes" }', '"votes", pairs = [["French", "chic"]] }')
    assert "two groups named 'French'" in refusal(listed)
    gold = GOLD.replace('"beret"', '"chic"')
    assert "gold[1]: 'votes' has more than one association of 'French' with 'chic'" in refusal(
        PREVALENCE + gold
    )


@pytest.mark.parametrize("names_group", [True, False])
def test_what_is_no_quota_is_told_of_the_regions_where_there_are_groups(names_group):
    with pytest.raises(StudyRefused, match="not a stratum") as refused:
        check_stratum("shoe", questions=(), names_group=names_group)
    assert ("'in-region', 'out-region'" in refused.value.page_message) == names_group


RATING = """
[[tasks]]
kind = "visual_nature"
attributes = ["hat", "kind"]

[[tasks.training]]
attribute = "Hat"
expected = ["agree", 5]
feedback = "One can point at it."

[[tasks.gold]]
attribute = "hat"
expected = "Strongly agree"

[[tasks.attention]]
attribute = "choose unsure"
expected = ["Unsure"]
"""


def test_check_items_follow_the_data_have_right_answers_and_no_slots():
    study = made(RATING)
    units = list(study.tasks.get().units.order_by("position"))
    assert [unit.purpose for unit in units] == ["data", "data", "training", "gold", "attention"]
    # 'hat' is data as well: its repeat tells them apart
    assert [unit.repeat for unit in units] == [0, 0, 1, 2, 1]
    assert [list(unit.options.values_list("expected", flat=True)) for unit in units] == [
        [None], [None], [[4, 5]], [[5]], [[3]],
    ]  # fmt: skip
    assert units[2].feedback == "One can point at it."
    assert Slot.objects.filter(unit__in=units[2:]).count() == 0
    assert Slot.objects.filter(unit__in=units[:2]).count() == 6


GOLD = """
[[tasks.gold]]
group = "French"
attribute = "beret"
expected = ["Unsure"]
"""
GOLD_PAGE = """
[[tasks.gold]]
group = "French"
image = 1
shown = ["beret", "hat"]
expected = ["beret"]

[[tasks.attention]]
group = "French"
image = 1
shown = ["turban"]
expected = []
"""


def test_check_pages_are_numbered_behind_the_pages_of_their_image():
    study = made(DEPICTION + GOLD_PAGE)
    checks = list(Unit.objects.filter(task__study=study).exclude(purpose=Purpose.DATA).order_by("position"))
    assert [(unit.purpose, unit.page) for unit in checks] == [("gold", 2), ("attention", 3)]
    assert list(checks[0].options.values_list("attribute__text", "expected")) == [
        ("beret", [1]), ("hat", [0]), (None, [0]),
    ]  # fmt: skip
    assert list(checks[1].options.values_list("attribute__text", "expected")) == [
        ("turban", [0]),
        (None, [1]),
    ]


@pytest.mark.parametrize(
    ("task", "old", "new", "message"),
    [
        (RATING, '["Unsure"]', '["Perhaps"]', "attention[1].expected: 'Perhaps' is not an answer of a"),
        (RATING, '["Unsure"]', "[9]", "attention[1].expected: '9' is not an answer"),
        (DEPICTION + GOLD_PAGE, "image = 1", "image = 9", "gold[1]: 'pictures' has no image 9"),
        (PREVALENCE + GOLD, '"beret"', '"hat"', "gold[1]: 'votes' has no association of 'French' with 'hat'"),
        (DEPICTION + GOLD_PAGE, "French", "Frensh", "'pictures' has no group 'Frensh'. Did you mean"),
        (PREVALENCE + GOLD, "French", "Frensh", "'votes' has no group 'Frensh'. Did you mean 'French'"),
        (PREVALENCE + GOLD, "French", "Martian", "gold[1]: 'votes' has no association of 'Martian' with"),
        (PREVALENCE + GOLD, '"beret"', '"sombrero"', "gold[1]: 'votes' has no association of 'French' with"),
    ],
)  # fmt: skip
def test_a_check_item_that_cannot_be_is_refused(task, old, new, message):
    assert old in task
    assert message in refusal(task.replace(old, new))


def test_a_study_of_every_kind_opens(tmp_path):
    factories.user("maria")
    factories.user("noor")
    path = tmp_path / "whole.toml"
    path.write_text(study_world.EVERY_KEY, encoding="utf-8")
    call_command("open_study", str(path))

    study = Study.objects.get(name="whole")
    assert study.status == "open"
    assert set(study.tasks.values_list("kind", flat=True)) == {
        "visual_nature", "prevalence", "offensiveness", "depiction", "association",
    }  # fmt: skip
    versions = {text.language: text.version for text in study.consent_texts.all()}
    assert versions == {"en": 1, "es": 1, "ar": 1, "fr": 1}
