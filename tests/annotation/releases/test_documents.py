"""What the data card of a release says about the images of the study and about what is left out."""

import json
from types import SimpleNamespace

import pytest
from django.utils import timezone

from annotation.models import Annotator, ImageSet, Purpose, Response, Source, Task, TaskKind, Unit
from annotation.releases import documents
from annotation.releases.coarsening import FieldReport
from annotation.releases.linkage import Linkage
from annotation.releases.metadata import describe_level, describe_people_part
from tests import factories
from tests.annotation.exports.world import depiction
from tests.annotation.releases.world import about, released, rows

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"model_name": "painter"}, "painter (CC0)"),
        ({"model_name": ""}, "model not known (CC0)"),
        ({"model_name": "painter", "drawn": True}, "DRAWN IMAGES, not made by a model (CC0)"),
    ],
)
def test_the_data_card_says_what_made_the_images(tmp_path, fields, said):
    study = depiction()
    ImageSet.objects.update(licence="CC0", **fields)
    card = (released(study, tmp_path / "r") / "README.md").read_text()
    assert f"| Images | live-images: {said} |" in card


def test_the_data_card_counts_the_answers_that_are_left_out(tmp_path):
    study = depiction()
    card = (released(study, tmp_path / "whole") / "README.md").read_text()
    assert "| Left out | all data of people who withdrew |" in card
    other = factories.task(kind=TaskKind.DEPICTION, image_set=factories.image_set("other"))
    shown = factories.page_unit(other, picture=factories.image(image_set=other.image_set))
    factories.response(shown, who=factories.annotator(), current=False)
    Response.objects.filter(annotator__pseudonym="a-two").update(current=False)
    Unit.objects.filter(image__group__name="French").update(purpose=Purpose.GOLD)
    french = Unit.objects.get(task__study=study, image__group__name="French")
    factories.response(french, who=factories.annotator(), current=False)
    factories.response(french, who=factories.annotator(), withdrawn_at=timezone.now(), current=False)
    folder = released(study, tmp_path / "less")
    counted = "2 earlier revisions, 1 answers to practice items and checks"
    card = (folder / "README.md").read_text()
    assert f"| Left out | all data of people who withdrew, {counted} |" in card
    # nor is what only these or another study show
    assert [row["image"] for row in rows(folder, "images.csv")] == ["Mexican5.png"]
    assert [row["unit"] for row in rows(folder, "units.csv")] == ["1"] * 5
    assert len(rows(folder, "annotators.csv")) == 1


def texts(folder):
    names = ("README.md", "LICENSE.txt", "CITATION.cff", "croissant.json")
    readme, licence, citation, croissant = ((folder / name).read_text() for name in names)
    return readme, licence, citation, json.loads(croissant)


def test_the_documents_mark_what_a_plain_study_does_not_say(tmp_path):
    study = depiction()
    Task.objects.update(image_set=factories.image_set("spare"))
    folder = released(study, tmp_path / "r", images=True)
    readme, licence, citation, croissant = texts(folder)
    for said in (
        "| Contact of the study | **[to be filled in: contact]** |",
        "| Licence | **[to be filled in: licence]** |",
        "| Citation | **[to be filled in: how to cite]** |",
        "| Consent | **[to be filled in: what annotators agreed to]** |",
        "| Sources | none |",
        "| Annotators | 3 |",
        "### units.csv (10 rows)",
        "No profile field is published for anybody.",
        "Slots reserved for: any, any, any.\n\n## Transformations",
        "- Pseudonyms: HMAC-SHA256",
        "- Strata (for whom a slot was reserved) are published",
        "- Justifications that annotators wrote are left out.",
    ):
        assert said in readme
    assert "Data from other sources keep their own licences:\n- images of live-images: not known" in licence
    assert 'abstract: "live"\n' in citation
    assert "license" not in citation
    assert (croissant["name"], croissant["license"]) == ("live", "[to be filled in: licence]")
    assert croissant["rai:annotatorDemographics"] == ["No profile field is published for anybody."]
    assert croissant["rai:personalSensitiveInformation"][0].endswith("coarsened: nothing is published")
    assert croissant["rai:dataCollectionType"] == ["Manual Human Curation", "Survey"]
    assert croissant["rai:machineAnnotationTools"] == []
    coarsened, _, justifications = croissant["rai:dataPreprocessingProtocol"]
    assert coarsened.startswith("Profiles are coarsened: at least 5 people")
    assert justifications == "Justifications are left out."
    assert "associations" not in [each["name"] for each in croissant["recordSet"]]
    formats = {each["name"]: each["encodingFormat"] for each in croissant["distribution"]}
    assert (formats["units.csv"], formats["annotations.parquet"]) == ("text/csv", "application/x-parquet")
    made = about(folder)
    assert [each["name"] for each in made["image_sets"]] == ["live-images", "spare"]
    assert made["tasks"][0]["image_set"] == "spare"
    counted = {"responses": 3, "judgements": 15, "boxes": 2, "units": 2, "annotators": 3}
    assert made["counts"] == counted


def test_the_documents_say_what_a_study_says_of_itself(tmp_path):
    """Which a program answered in part, and which is released without pseudonyms."""
    votes = Source.objects.create(name="votes", title="Votes", licence="CC0", citation="Somebody")
    study = depiction(stereotype_source=votes, description="Hats.", contact="us@example.org")
    Task.objects.update(instructions="Look closely.")
    Annotator.objects.filter(pseudonym="a-one").update(simulated=True)
    wanted = {"licence": "MIT", "citation": "Us | them (2026)", "with_text": True, "without_pseudonyms": True}
    folder = released(study, tmp_path / "r", **wanted)
    readme, licence, citation, croissant = texts(folder)
    for said in (
        "# Data card: SIMULATED ANSWERS: live",
        "| Contact of the study | us@example.org |",
        "| Licence | MIT |",
        "| Citation | Us &#124; them (2026) |",
        "| Sources | Votes (CC0): Somebody |",
        "| Annotators | 3, not distinguished in the answers |",
        "> The attribute '[attr]' can be visually depicted in an image.\n\nLook closely.\n\nTarget:",
        "The answers have no pseudonyms and no profiles",
        "- Pseudonyms are left out.",
        "- Justifications were screened",
    ):
        assert said in readme
    assert "licensed under: MIT\n" in licence
    assert "- associations of Votes: CC0. Somebody\n" in licence
    assert "license" not in citation
    assert 'abstract: "SIMULATED: ' in citation
    assert (croissant["name"], croissant["license"]) == ("live-simulated", "MIT")
    assert croissant["citeAs"] == "Us | them (2026)"
    assert croissant["rai:dataCollectionType"] == ["Simulation"]
    assert croissant["rai:machineAnnotationTools"] == ["a program that stands in for people"]
    left_out, _, justifications = croissant["rai:dataPreprocessingProtocol"]
    assert left_out == "Annotators' pseudonyms and profiles are left out."
    assert justifications.startswith("Justifications were screened")
    assert {row["simulated"] for row in rows(folder, "annotations.csv")} == {"yes", "no"}


def test_sources_of_what_is_shown_and_of_what_counts_are_named(tmp_path):
    votes, shown = factories.source("votes"), factories.source("shown")
    study = factories.rating_study(name="live", texts=(), stereotype_source=votes, description="Hats.")
    unit = factories.attribute_unit(study.tasks.get(), "hat")
    judged = factories.association(text="kind", from_source=shown, group_name="French")
    Unit.objects.filter(pk=unit.pk).update(attribute=None, association=judged)
    factories.response(unit, who=factories.annotator())
    folder = released(study, tmp_path / "r")
    assert [each["name"] for each in about(folder)["sources"]] == ["shown", "votes"]
    (association,) = rows(folder, "associations.csv")
    (identity,) = rows(folder, "identities.csv")
    (told,) = rows(folder, "units.csv")
    for row in (association, told):
        place = (row["source"], row["axis"], row["identity"], row["attribute"])
        assert place == ("shown", "nationality", "French", "kind")
    assert (identity["axis"], identity["identity"]) == ("nationality", "French")
    assert rows(folder, "annotations.csv")[0]["identity"] == "French"
    readme, licence, citation, _ = texts(folder)
    assert "| Images | none |" in readme
    assert "shown (licence not known)" in readme
    assert "Data from other sources keep their own licences:\n- associations of shown: not known" in licence
    assert 'abstract: "Hats."' in citation


def test_answers_of_nobody_are_released_as_they_stand(tmp_path):
    study = factories.rating_study(name="live", texts=("hat",), strata=("origin: Asia",) * 6)
    for value in (5, 1, 4, 2, 3, 5):
        factories.response(study.tasks.get().units.get(), values=[value], active_ms=None)
    folder = released(study, tmp_path / "r")
    found = rows(folder, "annotations.csv")
    assert [row["value"] for row in found] == ["5", "1", "4", "2", "3", "5"]
    assert {(row["annotator"], row["stratum"], row["active_seconds"]) for row in found} == {
        ("", "origin: Asia", "")
    }
    readme, licence, _, _ = texts(folder)
    assert "| Annotators | not identified by the source |" in readme
    assert "Data from other sources" not in licence


@pytest.mark.parametrize(
    ("found", "said"), [(5, "for all 5 people concerned"), (3, "for at least 3 of 5\npeople concerned")]
)
def test_the_data_card_says_of_how_many_people_strata_follow(found, said):
    people = SimpleNamespace(linkage=Linkage(hidden=5, found=found))
    assert said in "\n".join(documents._linkage(SimpleNamespace(people=people)))


def test_the_level_of_a_field_is_said_in_words():
    def level(name, number, *, published=5):
        return describe_level(FieldReport(name, number, levels=3, published=published, own_words=0, rare=0))

    assert level("origin", 0) == "as chosen"
    assert level("origin", 1) == "Global South or Global North"
    assert level("age_band", 1) == "age bands merged"
    assert level("age_band", 2) == "two age bands"
    assert level("age_band", 0, published=0) == "withheld"


def test_a_random_part_of_images_is_said_to_be_of_images():
    (said,) = describe_people_part(Task(kind=TaskKind.DEPICTION, people_share=0.25))
    assert said.startswith("People judged a random part: 25 % of the images, ")
