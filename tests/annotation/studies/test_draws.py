"""The draw of what images are shown with (PROTOCOL §5): right by the rule, and repeatable."""

import itertools

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from annotation.models import (
    Association,
    Attribute,
    IdentityGroup,
    Image,
    Option,
    OptionRole,
    Response,
    Study,
    Unit,
)
from annotation.studies.errors import StudyRefused
from annotation.studies.services import studies
from annotation.studies.study_file.reading import read_study_text
from annotation.studies.study_file.stimuli import GroupDraw
from annotation.studies.units import draws
from annotation.studies.units.attributes import shuffled
from tests import factories
from tests.annotation.studies import world as study_world

words = st.sets(st.text("abcdef", min_size=1, max_size=3), max_size=12)


@given(seed=st.integers(0, 2**63 - 1), stereotypical=words, visual=words, associated=words)
def test_random_attributes_are_visual_new_to_the_group_and_as_many(seed, stereotypical, visual, associated):
    drawn = draws.draw(
        seed=seed,
        group="nationality/Mexican",
        stereotypical=stereotypical,
        visual=visual,
        associated=associated | stereotypical,
    )

    assert set(drawn.stereotypical) == stereotypical & visual
    assert set(drawn.random) <= visual - associated - stereotypical
    assert len(set(drawn.random)) == len(drawn.random)
    possible = len(visual - associated - stereotypical)
    assert len(drawn.random) == min(len(drawn.stereotypical), possible)
    assert drawn.shortfall == len(drawn.stereotypical) - len(drawn.random)


@given(seed=st.integers(0, 2**63 - 1), visual=words)
def test_the_draw_depends_on_what_there_is_and_not_on_how_it_comes(seed, visual):
    def once(order):
        return draws.draw(
            seed=seed, group="g", stereotypical=["a", "b"], visual=order, associated=["a", "b", "c"]
        )

    turned = sorted(visual, reverse=True)
    assert once(sorted(visual)) == once(turned)


@given(seed=st.integers(0, 2**63 - 1), stereotypical=words, shown=words, page_size=st.integers(2, 7))
def test_pages_show_every_attribute_once(seed, stereotypical, shown, page_size):
    drawn = GroupDraw(tuple(sorted(stereotypical)), tuple(sorted(shown - stereotypical)))
    cut = draws.split_into_pages(seed=seed, image="nationality/Mexican/1", drawn=drawn, page_size=page_size)

    assert sorted(text for page in cut for text in page) == sorted(stereotypical | shown)
    assert all(len(page) == page_size - 1 for page in cut[:-1])


def test_the_draw_is_what_it_was_when_it_was_written_down():
    """Another Python or another version of the program must not draw anew for a study that exists."""
    drawn = draws.draw(
        seed=7,
        group="nationality/Mexican",
        stereotypical=["sombrero", "poncho", "kind"],
        visual=["sombrero", "poncho", "hat", "beret", "turban", "short", "chic"],
        associated=["sombrero", "poncho", "kind", "short"],
    )
    assert drawn == GroupDraw(("poncho", "sombrero"), ("hat", "turban"))
    assert draws.split_into_pages(seed=7, image="nationality/Mexican/3", drawn=drawn, page_size=3) == [
        ("hat", "poncho"),
        ("sombrero", "turban"),
    ]


def test_every_candidate_is_drawn_equally_often():
    visual = ["s", *"abcd"]
    times = dict.fromkeys("abcd", 0)
    for seed in range(2000):
        (text,) = draws.draw(
            seed=seed, group="g", stereotypical=["s"], visual=visual, associated=["s"]
        ).random
        times[text] += 1
    # 500 each; 4 standard deviations of a binomial with p = 1/4 are 77
    assert all(abs(number - 500) < 77 for number in times.values()), times


def test_pages_of_two_images_come_in_different_orders():
    drawn = GroupDraw(tuple("abcdef"), tuple("ghijkl"))
    assert draws.split_into_pages(seed=1, image="g/1", drawn=drawn, page_size=5) != draws.split_into_pages(
        seed=1, image="g/2", drawn=drawn, page_size=5
    )


@pytest.fixture
def world(db):
    study_world.everything()


def depiction(**changes) -> Study:
    text = study_world.HEAD + study_world.DEPICTION
    for old, new in changes.get("replace", {}).items():
        assert old in text
        text = text.replace(old, new)
    return studies.apply_file(file=read_study_text(text), by=None).study


def shown(study: Study) -> dict[str, dict[str, set[str]]]:
    """Group -> role -> attributes, asserted to be the same for each of its images."""
    found: dict[str, dict[str, set[str]]] = {}
    per_image: dict[tuple[str, int], dict[str, set[str]]] = {}
    for unit in Unit.objects.filter(task__study=study).select_related("image__group"):
        roles = per_image.setdefault((unit.image.group.name, unit.image.index), {})
        for option in unit.options.select_related("attribute"):
            if option.attribute:
                roles.setdefault(option.role, set()).add(option.attribute.text)
    for (group, _), roles in per_image.items():
        assert found.setdefault(group, roles) == roles
    return found


def test_a_study_shows_visual_stereotypes_and_as_many_random_visual_attributes(world):
    there = shown(depiction())

    # at least 2 out-region votes and visual for everybody: 'kind' has votes, but two of three see it
    assert {group: roles[OptionRole.STEREOTYPICAL] for group, roles in there.items()} == {
        "Mexican": {"sombrero", "poncho"},
        "French": {"beret"},
        "Nepali": {"prayer flag", "short", "poor"},
    }
    for group, roles in there.items():
        assert len(roles[OptionRole.RANDOM]) == len(roles[OptionRole.STEREOTYPICAL])
        # not associated anywhere in the resource, whatever the votes: 'poor' has one vote for Mexican
        assert not roles[OptionRole.RANDOM] & set(study_world.RESOURCE[group][1])
        assert roles[OptionRole.RANDOM] <= set(study_world.VISUAL)


def test_every_page_ends_with_none_of_the_above_and_pages_follow_each_other(world):
    study = depiction(replace={"seed = 5": "seed = 5\npage_size = 3"})
    units = list(Unit.objects.filter(task__study=study).order_by("position"))
    sizes = []
    for unit in units:
        options = list(unit.options.order_by("position"))
        assert [option.role for option in options].index(OptionRole.NONE_OF_ABOVE) == len(options) - 1
        sizes.append(len(options))
    assert max(sizes) == 3
    # 2 images of each group; 4, 2 and 6 attributes make 2, 1 and 3 pages of two
    assert len(units) == 2 * (2 + 1 + 3)
    for before, after in itertools.pairwise(units):
        assert after.page == (before.page + 1 if after.image_id == before.image_id else 1)


def test_the_studys_rule_and_the_other_studys_rule_decide(world):
    Study.objects.filter(name="seen").update(visual_rule=2)
    there = shown(depiction(replace={'source = "votes"': 'source = "votes"\nthreshold = 3'}))
    assert {group: roles[OptionRole.STEREOTYPICAL] for group, roles in there.items()} == {
        "Mexican": {"sombrero", "kind"}
    }


def test_the_other_study_can_decide_by_mean_score(world):
    """'kind' was given 5, 4 and 2: as much as 3.66, less than 3.67."""
    seen = Study.objects.get(name="seen")
    for mean, kind in ((3.66, True), (3.67, False), (4.67, False)):
        Study.objects.filter(name="seen").update(visual_mean=mean)
        seen.refresh_from_db()
        found = draws.visual_attributes(study=seen)
        assert ("kind" in found) == kind
        assert found - {"kind"} == (set(study_world.VISUAL) if mean < 4.67 else set())
    Study.objects.filter(name="seen").update(visual_mean=3.5)
    there = shown(depiction(replace={'source = "votes"': 'source = "votes"\nthreshold = 3'}))
    assert there["Mexican"][OptionRole.STEREOTYPICAL] == {"sombrero", "kind"}


def test_an_attribute_that_was_asked_twice_is_visual_if_it_is_both_times(world):
    seen = Study.objects.get(name="seen")
    again = factories.attribute_unit(seen.tasks.get(), "hat", repeat=2)
    for value in (5, 4, 2):
        factories.response(again, values=[value], who=factories.annotator())
    assert "hat" not in draws.visual_attributes(study=seen)
    again.responses.update(withdrawn_at=timezone.now())
    assert "hat" in draws.visual_attributes(study=seen)


def test_votes_of_the_other_pool_can_decide(world):
    # everybody has two in-region votes in the builders
    there = shown(
        depiction(
            replace={
                'source = "votes"': 'source = "votes"\npool = "in"',
                "{ visual": "{ allow_fewer = true, visual",
            }
        )
    )
    assert there["Mexican"][OptionRole.STEREOTYPICAL] == {"sombrero", "poncho", "poor"}


def test_withdrawn_and_superseded_ratings_do_not_make_an_attribute_visual(world):
    hat = Response.objects.filter(unit__attribute__text="hat")
    assert "hat" in draws.visual_attributes(study=Study.objects.get(name="seen"))
    hat.update(withdrawn_at=timezone.now())
    assert "hat" not in draws.visual_attributes(study=Study.objects.get(name="seen"))
    Response.objects.filter(unit__attribute__text="beret").update(current=False)
    assert "beret" not in draws.visual_attributes(study=Study.objects.get(name="seen"))


FEW = {'"seen"': '["sombrero", "poncho", "short", "prayer flag", "poor"]'}


def test_groups_of_which_too_few_random_attributes_can_be_drawn_are_refused_by_name(world):
    with pytest.raises(StudyRefused) as error:
        depiction(replace=FEW)
    assert "tasks[1].attributes: too few visual attributes" in str(error.value)
    assert "as it has stereotypes: 'Nepali' (3 needed, 2 available)." in str(error.value)
    assert "allow_fewer = true" in str(error.value)
    assert not Study.objects.filter(name="whole").exists()


def test_fewer_random_attributes_are_allowed_when_the_file_says_so_and_told(world):
    text = study_world.HEAD + study_world.DEPICTION.replace("{ visual", "{ allow_fewer = true, visual")
    file = read_study_text(text.replace('"seen"', FEW['"seen"']))
    made = studies.apply_file(file=file, by=None)

    assert made.notes == (
        "Fewer random attributes than stereotypes: 'Nepali' (3 needed, 2 available).",
        "No visual stereotypes, so no pages: 'French'.",
    )
    assert shown(made.study)["Nepali"][OptionRole.RANDOM] == {"sombrero", "poncho"}


def test_no_group_with_a_visual_stereotype_is_refused(world):
    with pytest.raises(StudyRefused, match="no group of the image set has a visual stereotype in 'votes'"):
        depiction(replace={'visual = "seen"': 'visual = ["hat"]'})


def test_the_same_seed_draws_the_same_in_a_database_filled_in_another_order(db):
    def drawn() -> list[tuple]:
        """What is shown, in order; the database that it was drawn in is emptied again."""
        listed = ", ".join(f'"{text}"' for text in study_world.VISUAL)
        prevalence = study_world.PREVALENCE.replace("}", ", limit = 7 }")
        study = depiction(replace={'"seen" }': f"[{listed}] }}\n{prevalence}"})
        options = Option.objects.filter(unit__task__study=study)
        said = list(
            options.order_by("unit__task__kind", "unit__position", "position").values_list(
                "unit__task__kind", "unit__position", "unit__image__group__name", "unit__image__index",
                "unit__page", "unit__association__group__name", "attribute__text", "role",
            )
        )  # fmt: skip
        for task in study.tasks.all():
            studies.delete_units(task=task)
        study.delete()
        for model in (Association, Image, Attribute, IdentityGroup):
            model.objects.all().delete()
        return said

    study_world.resource()
    study_world.pictures()
    first = drawn()
    # as it was when this was written down
    assert [row[5:7] for row in first if row[0] == "prevalence"] == [
        ("French", "romantic"), ("Nepali", "poor"), ("French", "chic"), ("Mexican", "poncho"),
        ("French", "beret"), ("Mexican", "sombrero"), ("Nepali", "short"),
    ]  # fmt: skip
    assert list(dict.fromkeys(row[2:5] for row in first if row[0] == "depiction")) == [
        ("French", 2, 1), ("French", 1, 1), ("Mexican", 2, 1), ("Nepali", 2, 1), ("Nepali", 2, 2),
        ("Mexican", 1, 1), ("Nepali", 1, 1), ("Nepali", 1, 2),
    ]  # fmt: skip
    assert shuffled("abcdef", seed=7) == list("eafdbc")

    votes = factories.source("votes")
    for group, (region, said) in reversed(study_world.RESOURCE.items()):
        factories.group(group, region=region)
        for text, number in reversed(said.items()):
            factories.association(
                group_name=group, text=text, out_votes=(number, 3 - number, 0), from_source=votes
            )
    study_world.pictures(groups=("Nepali", "French", "Mexican"))
    assert drawn() == first
    assert {row[0] for row in first} == {"depiction", "prevalence"}


def test_without_a_study_that_rated_them_every_attribute_of_the_source_counts_as_visual(world):
    there = shown(depiction(replace={'"seen"': '"none"'}))
    assert there["Mexican"][OptionRole.STEREOTYPICAL] == {"sombrero", "poncho", "kind"}


def test_two_groups_of_one_name_in_an_image_set_are_refused(world):
    other = IdentityGroup.objects.create(name="French", axis="other", demonym="French")
    picture = Image.objects.filter(group__name="French").first()
    picture.pk, picture.group = None, other
    picture.save()
    with pytest.raises(StudyRefused, match="'pictures' shows two groups named 'French'"):
        depiction()


def test_images_that_are_known_by_their_embeddings_alone_cannot_be_shown(world):
    """Nobody would see them, and boxes need a size."""
    Image.objects.filter(group__name="French", index=1).update(width=0, height=0, file="", reference="a.png")
    with pytest.raises(StudyRefused, match=r"'pictures' has 1 images without a file and of unknown size"):
        depiction()
    shown(depiction(replace={'"seen"': '"seen", groups = ["Mexican"]'}))
