"""The whole of ViSAGe's plan with the backend that draws, from the released associations to an open study."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db.models import Count

from annotation.annotate.services import items, responses
from annotation.models import Association, Image, Option, OptionRole, Study, Unit
from generation.jobs.services import work
from generation.models import Caption, Embedding, Job, JobState, Provenance
from generation.recipes.prompts import PromptSet
from tests import factories

pytestmark = [pytest.mark.release, pytest.mark.django_db(transaction=True)]

FAKE = ("--backend", "fake", "--yes")
SMALL = (*FAKE, "--size", "16x16")
STUDY = """
name = "images-2026"
title = "What do these pictures show?"
contact = "studies@example.org"
[consent]
text = "You are invited to look at pictures."
[stereotypes]
source = "seegull-v2"
[[tasks]]
kind = "depiction"
image_set = "drawn"
attributes = { visual = "visage" }
"""


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_from_the_released_associations_to_an_open_study_of_new_pictures(released, tmp_path):
    visage = released / "visage"
    run("import_seegull", str(released / "seegull" / "stereotypes_global_v2.csv"))
    run(
        "import_visage",
        "--attributes",
        str(visage / "Visual Attributes_.xlsx"),
        "--annotations",
        str(visage / "Image Annotations.xlsx"),
    )

    # detection: 135 groups, 3 prompts, 5 pictures each (PROTOCOL §5)
    assert "2,025 of 2,025" in run("generate", "visage", "--set", "drawn", *SMALL, "--now")
    drawn = Image.objects.filter(image_set__name="drawn")
    a_group = drawn.values("group").annotate(images=Count("pk"), prompts=Count("prompt", distinct=True))
    assert {(row["images"], row["prompts"]) for row in a_group} == {(15, 3)}
    assert a_group.count() == 135
    assert drawn.filter(prompt="a photo of an Indian person").count() == 5

    # pull: default, stereotypical and non-stereotypical (§9), one picture a prompt instead of 15
    pull = ("generate", "visage", "--set", "pull", "--prompts", "pull", "--images-per-prompt", "1", *SMALL)
    run(*pull, "--later")
    of_pull = Job.objects.filter(run__image_set__name="pull")
    assert of_pull.filter(prompt_set=PromptSet.DEFAULT, attribute=None).count() == 135
    votes = {
        (group, attribute): votes
        for group, attribute, votes in Association.objects.filter(source__name="seegull-v2").values_list(
            "group", "attribute", "out_stereotypical"
        )
    }
    for kind in (PromptSet.STEREOTYPICAL, PromptSet.NON_STEREOTYPICAL):
        described = of_pull.filter(prompt_set=kind)
        pairs = set(described.values_list("group", "attribute"))
        # three forms for each attribute of a group that the study showed with it
        assert described.count() == 3 * len(pairs) > 2000
        shown = Option.objects.filter(unit__task__study__name="visage", attribute__isnull=False).order_by()
        assert pairs <= set(shown.values_list("unit__image__group", "attribute").distinct())
        if kind == PromptSet.STEREOTYPICAL:
            assert all(votes[pair] >= 2 for pair in pairs)
        else:
            assert not pairs & set(votes)
    # all that is planned of twelve groups is drawn; that of the others would be drawn in the same way
    drawn_too = sorted(of_pull.values_list("group", flat=True).distinct())[::12]
    of_pull.exclude(group__in=drawn_too).delete()
    work.work(run_id=of_pull.earliest("pk").run_id)
    planned = of_pull.values_list("group", "prompt", "prompt_set", "attribute", "seed")
    made = Provenance.objects.filter(image__image_set__name="pull")
    assert set(made.values_list("prompt_set", flat=True)) == set(PromptSet) - {PromptSet.DETECTION}
    assert set(planned) == set(
        made.values_list("image__group", "image__prompt", "prompt_set", "attribute", "seed")
    )
    assert not Job.objects.exclude(state=JobState.DONE).exists()
    assert Image.objects.exclude(file="").count() == Provenance.objects.count() == Job.objects.count()
    for name in Image.objects.exclude(file="").values_list("file", flat=True)[::400]:
        assert default_storage.exists(name)
    # the same again makes nothing
    again = run("generate", "visage", "--set", "drawn", *SMALL, "--now")
    assert "Nothing to do" in again

    run("caption", "drawn", *FAKE, "--now", "--count", "3")
    run("embed", "drawn", *FAKE, "--now")
    assert Caption.objects.count() == 2025 * 3
    assert Embedding.objects.count() == 2025

    file = tmp_path / "images.toml"
    file.write_text(STUDY, encoding="utf-8")
    run("open_study", str(file))
    study = Study.objects.get(name="images-2026")
    units = Unit.objects.filter(task__study=study)
    assert (
        units.values("image").distinct().count() == drawn.filter(pk__in=units.values("image")).count() > 1900
    )
    enrolment = factories.enrolment(study, consented=True)
    [item] = items.next_items(enrolment=enrolment, wanted=1).items
    none = Unit.objects.get(pk=item.unit_id).options.get(role=OptionRole.NONE_OF_ABOVE)
    options = Unit.objects.get(pk=item.unit_id).options.order_by("position")
    said = [
        responses.Answer(option_id=option.pk, value=int(option == none), position=place)
        for place, option in enumerate(options, start=1)
    ]
    done = responses.submit(
        enrolment=enrolment, unit_id=item.unit_id, client_key=item.client_key, answers=said
    )
    assert done.outcome == "filled"
