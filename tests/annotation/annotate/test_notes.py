"""The note under a question is there only where the question does not say the same."""

import pytest

from annotation.annotate import texts
from annotation.models import TaskKind
from annotation.studies.study_file.default_wordings import default_wording
from tests import factories


@pytest.mark.parametrize(
    ("kind", "noted"),
    [
        (TaskKind.PREVALENCE, False),
        (TaskKind.OFFENSIVENESS, False),
        (TaskKind.DEPICTION, False),
        (TaskKind.ASSOCIATION, True),
    ],
)
@pytest.mark.parametrize("names_group", [True, False])
def test_a_default_wording_that_says_it_has_no_note(kind, noted, names_group):
    assert bool(texts.note(kind, default_wording(kind, names_group=names_group))) == noted
    assert texts.note(kind, "What do you see?")


@pytest.mark.django_db
@pytest.mark.parametrize("own", [True, False])
def test_the_page_shows_the_note_of_a_wording_of_the_studys_own(client, own):
    kind = TaskKind.OFFENSIVENESS
    wording = "How bad is '[attr]'?" if own else default_wording(kind, names_group=False)
    study = factories.study("words")
    factories.consent_text(study)
    factories.attribute_unit(factories.task(study, kind=kind, wording=wording), "lazy")
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    client.force_login(who)
    page = client.get("/studies/words/annotate/")
    assert ("Think of it as a generalisation" in page.text) == own
    assert bool(page.context["config"]["notes"][kind]) == own


@pytest.mark.django_db
def test_a_translation_of_the_studys_own_has_the_note_in_its_language(client):
    study = factories.study("words", translations={"es": {"title": "Palabras"}})
    factories.consent_text(study)
    kind = TaskKind.OFFENSIVENESS
    task = factories.task(
        study,
        kind=kind,
        wording=default_wording(kind, names_group=False),
        translations={"es": {"wording": "¿Cómo de grave es «[attr]»?"}},
    )
    factories.attribute_unit(task, "lazy")
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    client.force_login(who)
    notes = [
        client.get("/studies/words/annotate/", headers={"accept-language": language}).context["config"][
            "notes"
        ]
        for language in ("en", "es")
    ]
    assert [bool(each[kind]) for each in notes] == [False, True]
