"""Whom a study is about, and how pull describes them (PROTOCOL §9)."""

from __future__ import annotations

import pytest

from annotation.models import (
    AuditEvent,
    Axis,
    IdentityGroup,
    Option,
    OptionRole,
    Purpose,
    Response,
    StudyStatus,
    TaskKind,
    Unit,
)
from annotation.studies.services.study_plan import MADE_FROM_FILE
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.queries import identity_groups
from generation.recipes.prompts import PromptSet
from tests import factories
from tests.generation.plans import world
from tests.metrics.votes_cast import association_unit

pytestmark = pytest.mark.django_db


class TestPull:
    def test_people_are_described_as_the_study_draws_it(self):
        study = world.knowing_study()
        mexican, indian = factories.group("Mexican"), factories.group("Indian")
        plan = plans.plan_images(
            recipe=world.recipe(prompt_sets=world.PULL), groups=[mexican, indian], study=study
        )
        assert world.prompts_of(plan, PromptSet.DEFAULT, "Indian") == ["an Indian person"]
        assert world.prompts_of(plan, PromptSet.STEREOTYPICAL, "Indian") == [
            "an Indian person described as sari",
            "a photo of an Indian person described as sari",
            "a portrait of an Indian person described as sari",
        ]
        unlike = {
            each.prompt.attribute
            for each in plan.prompts
            if " Mexican " in each.prompt.text and each.prompt.prompt_set == PromptSet.NON_STEREOTYPICAL
        }
        # 'tall' is associated with Mexicans, though it is no stereotype: it is neither
        assert unlike == {"sari", "poor"}

    def test_what_the_pages_show_goes_before_what_the_rule_would_draw(self):
        study = world.knowing_study()
        task = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set())
        unit = factories.page_unit(task, picture=factories.image(), texts=("hat", "kind"))
        Option.objects.filter(unit=unit, attribute__text="hat").update(role=OptionRole.STEREOTYPICAL)
        Option.objects.filter(unit=unit, attribute__text="kind").update(role=OptionRole.RANDOM)
        found = identity_groups.attributes_by_group(
            study, [factories.group("Mexican"), factories.group("Indian")]
        )
        of_mexican = found[factories.group("Mexican").pk]
        assert (of_mexican.stereotypical, of_mexican.random) == (("hat",), ("kind",))
        # the pages show no Indian: drawn by the study's rule
        indian = factories.group("Indian")
        assert found[indian.pk].stereotypical == ("sari",)
        assert list(identity_groups.attributes_by_group(study, [indian])) == [indian.pk]

    def test_only_what_the_data_pages_of_depictions_show_and_only_with_a_stereotype_counts(self):
        study = factories.study("bare")
        task = factories.task(study, kind=TaskKind.DEPICTION)
        other = factories.task(study, kind=TaskKind.VISUAL_NATURE)
        groups = [factories.group(name) for name in ("Mexican", "Indian", "Nepali", "Welsh")]
        for group, of, purpose, role in (
            ("Mexican", task, Purpose.DATA, OptionRole.STEREOTYPICAL),
            ("Indian", task, Purpose.DATA, OptionRole.RANDOM),
            ("Nepali", task, Purpose.ATTENTION, OptionRole.STEREOTYPICAL),
            ("Welsh", other, Purpose.DATA, OptionRole.STEREOTYPICAL),
        ):
            unit = factories.page_unit(of, picture=factories.image(group_name=group), texts=("hat",))
            Unit.objects.filter(pk=unit.pk).update(purpose=purpose)
            Option.objects.filter(unit=unit, attribute__text="hat").update(role=role)
        # without a source the others cannot be drawn, and are left out
        assert list(identity_groups.attributes_by_group(study, groups)) == [groups[0].pk]

    def test_what_pages_call_random_is_random_whatever_the_source_says(self):
        study = world.knowing_study()
        task = factories.task(study, kind=TaskKind.DEPICTION)
        unit = factories.page_unit(task, picture=factories.image(), texts=("hat", "sombrero", "tall", "kind"))
        Option.objects.filter(unit=unit, attribute__text="hat").update(role=OptionRole.STEREOTYPICAL)
        Option.objects.filter(unit=unit, attribute__text__in=("sombrero", "tall")).update(
            role=OptionRole.RANDOM
        )
        (of_mexican,) = identity_groups.attributes_by_group(study, [factories.group("Mexican")]).values()
        assert (of_mexican.stereotypical, of_mexican.random) == (("hat",), ("kind", "sombrero", "tall"))

    def test_a_group_is_drawn_by_its_axis_and_name_with_the_seed_of_the_newest_task(self, monkeypatch):
        study, drawn, group = world.knowing_study(), [], factories.group("Indian")
        for version, seed in ((1, 7), (2, 8)):
            factories.task(study, kind=TaskKind.DEPICTION, version=version, seed=seed)
        factories.task(study, kind=TaskKind.VISUAL_NATURE, version=3, seed=9)
        draw = identity_groups.draws.draw
        monkeypatch.setattr(
            identity_groups.draws,
            "draw",
            lambda **given: drawn.append((given["seed"], given["group"])) or draw(**given),
        )
        identity_groups.attributes_by_group(study, [group])
        assert drawn == [(8, f"{group.axis}/Indian")]

    def test_what_is_shown_as_both_is_a_stereotype(self):
        task = factories.task(world.knowing_study(), kind=TaskKind.DEPICTION)
        for index, role in ((1, OptionRole.STEREOTYPICAL), (2, OptionRole.RANDOM)):
            unit = factories.page_unit(task, picture=factories.image(index=index), texts=("hat", "kind"))
            Option.objects.filter(unit=unit, attribute__text="hat").update(role=role)
            Option.objects.filter(unit=unit, attribute__text="kind").update(role=OptionRole.RANDOM)
        (of_mexican,) = identity_groups.attributes_by_group(task.study, [factories.group("Mexican")]).values()
        assert (of_mexican.stereotypical, of_mexican.random) == (("hat",), ("kind",))

    def test_a_release_that_does_not_say_is_read_by_the_studys_rule(self):
        study = world.knowing_study()
        task = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set())
        factories.page_unit(task, picture=factories.image(), texts=("sombrero", "tall", "kind"))
        found = identity_groups.attributes_by_group(study, [factories.group("Mexican")])
        of_mexican = found[factories.group("Mexican").pk]
        assert (of_mexican.stereotypical, of_mexican.random) == (("sombrero",), ("kind",))
        # another study's pages say nothing of this one
        other = factories.task(factories.study(), kind=TaskKind.DEPICTION)
        unit = factories.page_unit(other, picture=factories.image(index=2), texts=("hat",))
        Option.objects.filter(unit=unit, attribute__text="hat").update(role=OptionRole.STEREOTYPICAL)
        assert identity_groups.attributes_by_group(study, [factories.group("Mexican")]) == found

    def test_only_what_the_study_found_visual_describes_people(self):
        study = world.knowing_study(status=StudyStatus.OPEN)
        task = factories.task(study, strata=("any",))
        for text, value in (("sombrero", 5), ("spicy food", 1), ("kind", 4), ("poor", 4)):
            factories.response(factories.attribute_unit(task, text), values=[value])
        found = identity_groups.attributes_by_group(
            study, [factories.group("Mexican"), factories.group("Indian")]
        )
        (of_mexican,) = found.values()
        assert of_mexican.stereotypical == ("sombrero",)
        assert set(of_mexican.random) <= {"kind", "poor"}
        # if nobody's rating stands, it did not ask; whoever says what an image depicts rates nothing
        Response.objects.update(current=False)
        pages = factories.task(study, kind=TaskKind.DEPICTION)
        factories.response(factories.page_unit(pages, picture=factories.image(), texts=("hat",)))
        assert len(identity_groups.attributes_by_group(study, [factories.group("Indian")])) == 1

    @pytest.mark.parametrize("listed", [True, False])
    def test_a_group_that_the_pages_lack_is_drawn_from_what_the_studys_file_drew_from(self, listed):
        other = factories.study("rating")
        task = factories.task(other, strata=("any",))
        for text, value in (("sari", 5), ("hat", 5), ("poor", 1)):
            factories.response(factories.attribute_unit(task, text), values=[value])
        study = world.knowing_study()
        drawn_from = ["sari", "hat"] if listed else "rating"
        AuditEvent.objects.create(what=MADE_FROM_FILE, study=study, details={"draws": {}})
        AuditEvent.objects.create(
            what=MADE_FROM_FILE, study=study, details={"draws": {"depiction": {"visual": drawn_from}}}
        )
        (of_indian,) = identity_groups.attributes_by_group(study, [factories.group("Indian")]).values()
        assert (of_indian.stereotypical, of_indian.random) == (("sari",), ("hat",))

    def test_a_group_without_a_stereotype_gets_default_pictures_and_a_note(self):
        study = world.knowing_study()
        groups = [factories.group("Togolese"), factories.group("Indian")]
        plan = plans.plan_images(recipe=world.recipe(prompt_sets=world.PULL), groups=groups, study=study)
        assert world.prompts_of(plan, PromptSet.DEFAULT, "Togolese") == ["a Togolese person"]
        assert world.prompts_of(plan, PromptSet.STEREOTYPICAL, "Togolese") == []
        [note] = [note for note in plan.notes if "without a visual stereotype" in note]
        assert note.endswith(": 'Togolese'.")
        known = plans.plan_images(recipe=world.recipe(prompt_sets=world.PULL), groups=groups[1:], study=study)
        assert not [note for note in known.notes if "without a visual stereotype" in note]

    def test_no_group_with_a_stereotype_is_refused(self):
        with pytest.raises(PlanRefused, match="no visual stereotype for any of 1 groups"):
            plans.plan_images(
                recipe=world.recipe(prompt_sets=world.PULL),
                groups=[factories.group("Togolese")],
                study=world.knowing_study(),
            )

    def test_described_prompts_need_a_study(self):
        with pytest.raises(PlanRefused, match="Name a study"):
            plans.plan_images(recipe=world.recipe(prompt_sets=world.PULL), groups=[factories.group("Indian")])

    def test_a_study_that_knows_no_attributes_is_refused(self):
        with pytest.raises(PlanRefused, match="neither attribute pages nor a source"):
            plans.plan_images(
                recipe=world.recipe(prompt_sets=world.PULL),
                groups=[factories.group("Indian")],
                study=factories.study("bare"),
            )

    def test_pull_and_detection_do_not_go_together(self):
        with pytest.raises(PlanRefused, match="plan them separately"):
            plans.plan_images(
                recipe=world.recipe(prompt_sets=("detection", "default")), groups=[factories.group("Indian")]
            )


class TestGroups:
    def test_a_study_is_about_what_it_shows(self):
        study = world.knowing_study()
        task = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set())
        factories.page_unit(task, picture=factories.image(group_name="Nepali"))
        check = factories.page_unit(task, picture=factories.image(group_name="Welsh"))
        Unit.objects.filter(pk=check.pk).update(purpose=Purpose.ATTENTION)
        assert [group.name for group in identity_groups.groups_of_study(study)] == ["Nepali"]
        association_unit(factories.task(study, kind=TaskKind.PREVALENCE), "Indian", "sari")
        assert [group.name for group in identity_groups.groups_of_study(study)] == ["Indian", "Nepali"]

    def test_a_study_that_shows_nothing_yet_is_about_those_its_source_has_a_stereotype_of(self):
        study = world.knowing_study()
        factories.attribute_unit(factories.task(study), "hat")
        assert [group.name for group in identity_groups.groups_of_study(study)] == ["Indian", "Mexican"]

    @pytest.mark.parametrize("threshold", [None, 4])
    def test_a_study_about_nobody_is_refused(self, threshold):
        study = factories.study("bare") if threshold is None else world.knowing_study()
        if threshold:
            study.stereotype_threshold = threshold
        with pytest.raises(
            PlanRefused, match="Lower the threshold" if threshold else "source of stereotypes"
        ):
            identity_groups.groups_of_study(study)

    def test_names_are_found_whatever_their_case_and_order(self):
        factories.group("Indian"), factories.group("Mexican")
        found = identity_groups.groups_by_name(["mexican", " Indian", "Mexican"])
        assert [group.name for group in found] == ["Mexican", "Indian"]

    def test_an_unknown_name_is_refused_with_the_nearest(self):
        factories.group("Mexican")
        with pytest.raises(PlanRefused, match=r"no identity group 'Mexcan'.*Did you mean 'Mexican'"):
            identity_groups.groups_by_name(["Mexcan"])

    def test_an_empty_catalogue_says_how_to_fill_it(self):
        with pytest.raises(PlanRefused, match="import_seegull"):
            identity_groups.groups_by_name(["Mexican"])

    def test_a_name_on_two_axes_has_to_say_which(self):
        factories.group("Georgian")
        state = IdentityGroup.objects.create(name="Georgian", axis=Axis.US_STATE, demonym="Georgian")
        IdentityGroup.objects.create(name="Alaskan", axis=Axis.US_STATE, demonym="Alaskan")
        with pytest.raises(PlanRefused, match="us_state/Georgian"):
            identity_groups.groups_by_name(["Georgian"])
        assert identity_groups.groups_by_name(["us_state/Georgian"]) == [state]

    def test_a_set_is_about_its_images_and_those_that_are_planned(self):
        another = world.planned("Nepali", image_set="another").run
        factories.image(group_name="Welsh", image_set=another.image_set)
        run = world.planned("Indian").run
        factories.image(group_name="Mexican", image_set=run.image_set)
        factories.group("Togolese")
        found = [group.name for group in identity_groups.groups_of(None, "trial")]
        assert found == ["Indian", "Mexican"]

    def test_an_empty_set_is_about_nobody(self):
        with pytest.raises(PlanRefused, match="--groups"):
            identity_groups.groups_of_image_set(factories.image_set())
