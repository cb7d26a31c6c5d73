"""Setting a study up in the browser (setup/views/wizard.py, setup/services.py)."""

import tomllib
from html import unescape

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils.html import strip_tags

from annotation.models import Study, StudyStatus, TaskKind, Unit
from annotation.setup import services as setup_services
from annotation.setup.forms.people import ConsentForm, RecruitmentForm
from annotation.setup.forms.source import SourceForm
from annotation.setup.forms.start import NewStudyForm
from annotation.setup.views.errors import WizardErrors
from annotation.studies.errors import StudyFileError
from annotation.studies.services import studies, study_files
from annotation.studies.study_file.reading import read_study_text
from tests import factories

pytestmark = pytest.mark.django_db

CONSENT = {"text": "You rate words.\n\nYou may stop at any time.", "break_after": "30"}
RECRUITMENT = {
    "self_enrol": "on",
    "participant": "PROLIFIC_PID",
    "study": "STUDY_ID",
    "session": "SESSION_ID",
}
SOURCE = {
    "title": "What can be seen?",
    "contact": "studies@example.org",
    "description": "",
    "pool": "out",
    "threshold": "2",
    "visual_nature_on": "on",
    "visual_nature_words": "Sombrero\n kind \n\npoor",
}
TASKS = {
    "visual_nature_strata": "origin: Asia\norigin: Europe\nany",
    "visual_nature_wording": "",
    "visual_nature_instructions": "Think of any image.",
    "visual_nature_seed": "7",
}


def creator(name: str = "lead"):
    made = factories.user(name, lead=True)
    return made


@pytest.fixture
def lead():
    return creator()


@pytest.fixture
def fill(client, lead):
    """Sends one page of the wizard."""
    client.force_login(lead)

    def send(step: str, data: dict, name: str = "visual-2026"):
        return client.post(reverse("setup_step", args=[name, step]), data)

    return send


@pytest.fixture
def begun(client, lead):
    client.force_login(lead)
    answer = client.post(reverse("setup"), {"title": "What can be seen?", "name": "visual-2026"})
    assert answer.url == reverse("setup_step", args=["visual-2026", "source"])


def filled_in(fill) -> None:
    for step, data in (
        ("source", SOURCE),
        ("tasks", TASKS),
        ("consent", CONSENT),
        ("recruitment", RECRUITMENT),
    ):
        answer = fill(step, data)
        assert answer.status_code == 302, answer.context["form"].errors


def test_the_pages_make_and_open_a_study_that_its_maker_leads(begun, fill, client, lead):
    filled_in(fill)
    assert not Study.objects.exists(), "nothing is made before it is asked for"
    assert fill("open", {"make": "1"}).status_code == 302
    study = Study.objects.get()
    assert (study.status, [*study.leads.all()]) == (StudyStatus.DRAFT, [lead])
    answer = fill("open", {"open": "1"})
    study.refresh_from_db()
    assert answer.url == reverse("invitations", args=["visual-2026"]) + "?opened"
    assert study.status == StudyStatus.OPEN
    invited = client.get(answer.url).text.partition("They need no account:")[2]
    link = reverse("join", args=[study.invitations.get().code])
    assert invited.index(link) < invited.index("people who have an account here")
    task = study.tasks.get()
    assert task.strata == ["origin: Asia", "origin: Europe", "any"]
    assert (task.seed, task.instructions) == (7, "Think of any image.")
    assert sorted(task.units.values_list("attribute__text", flat=True)) == ["kind", "poor", "sombrero"]
    assert study.consent_texts.get().text == CONSENT["text"]
    assert setup_services.documents(user=lead) == {}


def test_only_a_study_of_the_same_name_is_in_the_way_of_a_new_one(client, lead):
    factories.study("another")
    client.force_login(lead)
    for name, status in (("another", 422), ("new", 302)):
        assert client.post(reverse("setup"), {"title": "New", "name": name}).status_code == status


def test_the_browser_and_the_file_make_the_same_study(begun, fill, client, lead):
    filled_in(fill)
    toml = client.get(reverse("setup_file", args=["visual-2026"])).text
    fill("open", {"make": "1"})
    by_browser = study_files.to_study_file(study=Study.objects.get())
    Study.objects.all().delete()
    studies.apply_file(file=read_study_text(toml), by=None)
    by_file = study_files.to_study_file(study=Study.objects.get())
    assert by_file.leads == ()
    assert {**vars(by_browser), "leads": ()} == vars(by_file)


def test_what_was_filled_in_survives_logging_out_and_is_nobody_elses(begun, fill, client, lead):
    fill("source", SOURCE)
    client.logout()
    client.force_login(lead)
    shown = client.get(reverse("setup_step", args=["visual-2026", "source"]))
    assert "sombrero" in shown.text.lower()
    client.force_login(creator("other"))
    assert client.get(reverse("setup_step", args=["visual-2026", "source"])).status_code == 404
    assert "visual-2026" not in client.get(reverse("setup")).text


@pytest.mark.parametrize(
    ("step", "changes", "field", "says"),
    [
        ("source", {"contact": ""}, "contact", "required"),
        ("source", {"visual_nature_words": ""}, "visual_nature_source", "Choose a resource"),
        ("source", {"visual_nature_words": "hat\nHat"}, "visual_nature_words", "appears twice"),
        ("source", {"visual_nature_source": "nowhere"}, "visual_nature_source", "not one of the available"),
        ("source", {"threshold": "0"}, "threshold", "greater than or equal to 1"),
        ("source", {"visual_mean": "0.5"}, "visual_mean", "greater than or equal to 1"),
        ("source", {"visual_mean": "5.5"}, "visual_mean", "less than or equal to 5"),
        ("source", {"visual_mean": "3.667"}, "visual_mean", "multiple of step size"),
        ("source", {"visual_rule": "2", "visual_mean": "4"}, "visual_mean", "Choose one rule"),
        ("source", {"visual_nature_on": ""}, "__all__", "at least one kind"),
        *(
            (
                "source",
                {"association_on": "on", "association_pairs": "French: hat", **more},
                field,
                "not both",
            )
            for field, more in [
                ("association_pairs", {"association_limit": "5"}),
                ("association_pairs", {"association_groups": "French"}),
            ]
        ),
        (
            "source",
            {
                "offensiveness_on": "on",
                "offensiveness_of": "attributes",
                "offensiveness_pairs": "French: hat",
            },
            "offensiveness_pairs",
            "only be used with attributes of identity groups",
        ),
        ("tasks", {"visual_nature_strata": "any\norigin Asia"}, "visual_nature_strata", "Line 2"),
        ("tasks", {"visual_nature_strata": "shoe: 42"}, "visual_nature_strata", "with one of: origin"),
        ("tasks", {"visual_nature_strata": "in-region"}, "visual_nature_strata", "identity groups"),
        (
            "tasks",
            {"visual_nature_strata": "gender: not male and in-region"},
            "visual_nature_strata",
            "groups",
        ),
        (
            "tasks",
            {"visual_nature_strata": f"origin: {'x' * 120}"},
            "visual_nature_strata",
            "longer than 120",
        ),
        ("tasks", {"visual_nature_strata": ""}, "visual_nature_strata", "required"),
        ("tasks", {"visual_nature_wording": "Can it be seen?"}, "visual_nature_wording", "[attr]"),
        ("tasks", {"visual_nature_seed": "-1"}, "visual_nature_seed", "greater than or equal to 0"),
        ("consent", {"text": " "}, "text", "required"),
        ("consent", {"content_warning_es": "Aviso."}, "text_es", "as well"),
        ("consent", {"break_after": "soon"}, "break_after", "whole number"),
        ("recruitment", {"completion_url": "http://"}, "completion_url", "valid URL"),
        ("recruitment", {"completion_url": "notaurl"}, "completion_url", "'notaurl' is not a full URL."),
        ("recruitment", {"participant": "a b"}, "participant", "valid value"),
    ],
)
def test_an_error_stands_beside_its_field_and_nothing_is_kept(begun, fill, lead, step, changes, field, says):
    filled_in(fill)
    before = setup_services.documents(user=lead)
    data = {"source": SOURCE, "tasks": TASKS, "consent": CONSENT, "recruitment": RECRUITMENT}[step]
    answer = fill(step, {**data, **changes})
    assert answer.status_code == 422
    assert says in unescape(str(answer.context["form"].errors[field]))
    if field != "__all__":
        assert f'id="id_{field}_error"' in answer.text
    assert setup_services.documents(user=lead) == before


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("example.org/done", "https://example.org/done"),
        ("http://localhost/done", "http://localhost/done"),
        (" ", ""),
    ],
)
def test_an_address_without_a_scheme_is_of_the_web(typed, url):
    assert RecruitmentForm.base_fields["completion_url"].clean(typed) == url


def test_the_rule_of_visual_nature_is_one_of_three(begun, fill, client):
    for said in ({"visual_mean": "3.67"}, {"visual_rule": "2"}, {"visual_mean": "4.0"}, {}):
        filled_in(fill)
        assert fill("source", {**SOURCE, **said}).status_code == 302
        assert fill("open", {"make": "1"}).status_code == 302
        study = Study.objects.get()
        assert study.visual_rule == (int(said["visual_rule"]) if "visual_rule" in said else None)
        assert study.visual_mean == (float(said["visual_mean"]) if "visual_mean" in said else None)
        shown = client.get(reverse("setup_step", args=["visual-2026", "source"])).context["form"]
        assert shown["visual_mean"].value() == study.visual_mean


def test_the_method_of_the_intervals_is_chosen_on_the_first_page(begun, fill, client):
    for chosen in ("bootstrap", "clustered", "bootstrap"):
        filled_in(fill)
        assert fill("source", {**SOURCE, "intervals": chosen}).status_code == 302
        assert fill("open", {"make": "1"}).status_code == 302
        assert Study.objects.get().intervals == chosen
        shown = client.get(reverse("setup_step", args=["visual-2026", "source"])).context["form"]
        assert shown["intervals"].value() == chosen


def test_two_rules_in_an_uploaded_file_are_put_right_on_the_first_page():
    problem = StudyFileError("two rules", place="visual_mean")
    assert WizardErrors("a", {}).for_page(problem)["step"] == "source"
    assert SourceForm({}).field_for("visual_mean") == "visual_mean"


@pytest.mark.parametrize(
    ("place", "step", "form", "field"),
    [
        ("translations.es.title", "source", SourceForm, "title_es"),
        ("translations.ar.description", "source", SourceForm, "description_ar"),
        ("translations.es", "source", SourceForm, None),
        ("translations.fr.title", "source", SourceForm, None),
        ("translations.es.support_text", "consent", ConsentForm, "support_text_es"),
        ("questions[1].translations.es.label", "recruitment", RecruitmentForm, None),
    ],
)
def test_what_is_wrong_with_a_translation_is_put_right_where_it_is_asked_for(place, step, form, field):
    problem = StudyFileError("This is empty.", key=place)
    assert WizardErrors("a", {}).for_page(problem)["step"] == step
    shown = form({}, {})
    WizardErrors("a", {}, shown).add_to_form(problem)
    said = shown.errors[field] if field else shown.non_field_errors()
    assert said[-1].endswith("This is empty.")


def test_the_last_page_says_what_is_missing_and_where(begun, fill, client):
    fill("source", SOURCE)
    lead = get_user_model().objects.get()
    document = setup_services.documents(user=lead)["visual-2026"]
    del document["consent"]  # a new study begins with texts to adapt
    setup_services.save(user=lead, name="visual-2026", document=document)
    shown = client.get(reverse("setup_step", args=["visual-2026", "open"]))
    assert shown.status_code == 200
    assert strip_tags(shown.context["problems"][0]["text"]) == ("Add the consent text.")
    assert shown.context["problems"][0]["step"] == "consent"
    answer = fill("open", {"open": "1"})
    assert answer.status_code == 422
    assert not Study.objects.exists()


def test_a_draft_follows_the_pages_until_it_opens(begun, fill):
    filled_in(fill)
    fill("open", {"make": "1"})
    fill("source", {**SOURCE, "visual_nature_words": "hat"})
    fill("open", {"make": "1"})
    assert [*Unit.objects.values_list("attribute__text", flat=True)] == ["hat"]
    fill("open", {"open": "1"})
    fill("source", {**SOURCE, "visual_nature_words": "cap"})
    fill("open", {"make": "1"})
    assert [*Unit.objects.values_list("attribute__text", flat=True)] == ["hat"], "an open study keeps them"


def test_whether_it_can_be_filled_is_said_before_it_opens(begun, fill, client):
    filled_in(fill)
    fill("open", {"make": "1"})
    shown = client.get(reverse("setup_step", args=["visual-2026", "open"]))
    assert "Each item needs 3 people. Among them, by their profiles: at least 1 from Asia; at" in shown.text
    assert "notice-warning" not in shown.text  # nobody could have joined
    study = Study.objects.get()
    factories.enrolment(study, profile={"origin": "Asia"})
    shown = client.get(reverse("setup_step", args=["visual-2026", "open"]))
    assert "Each item needs 1 person who matches “origin: Europe”; enrolled: 0." in shown.text
    for origin in ("Europe", "Africa"):
        factories.enrolment(study, profile={"origin": origin})
    shown = client.get(reverse("setup_step", args=["visual-2026", "open"]))
    assert "The 3 people enrolled can fill all quotas" in shown.text


def test_all_five_kinds_are_set_up_with_their_own_material(begun, fill, lead):
    for number in range(4):
        factories.association(text=f"stereotype {number}", out_votes=(3, 0, 0))
        factories.association(group_name="French", text=f"other {number}", out_votes=(0, 3, 0))
    for group in ("Mexican", "French"):
        made = factories.group(group)
        made.region = "Europe"
        made.save()
    factories.image()
    kinds = {
        "visual_nature_source": "test-source",
        "visual_nature_words": "",
        "visual_nature_limit": "5",
        "offensiveness_on": "on",
        "offensiveness_of": "associations",
        "offensiveness_source": "test-source",
        "offensiveness_groups": "Mexican",
        "prevalence_on": "on",
        "prevalence_source": "test-source",
        "association_on": "on",
        "association_source": "test-source",
        "association_pairs": "Mexican: stereotype 1",
        "depiction_on": "on",
        "depiction_image_set": "test-set",
        "depiction_visual": "none",
        "depiction_page_size": "5",
        "rule_source": "test-source",
    }
    answer = fill("source", {**SOURCE, **kinds})
    assert answer.status_code == 302, answer.context["form"].errors
    tasks = {
        f"{kind}_{part}": value
        for kind, strata in {
            "visual_nature": "any",
            "offensiveness": "any\nany",
            "prevalence": "in-region\nout-region",
            "association": "any",
            "depiction": "any\nin-region and gender: not male",
        }.items()
        for part, value in {"strata": strata, "seed": "1"}.items()
    }
    answer = fill("tasks", tasks)
    assert answer.status_code == 302, answer.context["form"].errors
    fill("consent", CONSENT)
    answer = fill("open", {"make": "1"})
    assert answer.status_code == 302, answer.context["problems"]
    units = {task.kind: task.units.count() for task in Study.objects.get().tasks.all()}
    assert units == {
        TaskKind.VISUAL_NATURE: 5,
        TaskKind.OFFENSIVENESS: 4,
        TaskKind.PREVALENCE: 8,
        TaskKind.ASSOCIATION: 1,
        TaskKind.DEPICTION: 2,
    }


def test_translations_questions_and_care_reach_the_study(begun, fill, settings):
    settings.LANGUAGES = [("en", "English"), ("es", "Español"), ("ar", "العربية")]
    fill("source", SOURCE)
    spanish = {
        "visual_nature_wording_es": "¿Se puede ver '[attr]' en una imagen?",
        "visual_nature_instructions_es": "Piense en cualquier imagen.",
    }
    assert fill("tasks", {**TASKS, **spanish}).status_code == 302
    care = {
        "text_es": "Usted valora palabras.",
        "content_warning": "Some words hurt.",
        "support_text": "Call us.",
        "session_cap": "100",
        "break_after": "0",
        "blur_images": "on",
    }
    assert fill("consent", {**CONSENT, **care}).status_code == 302
    asked = {
        "question_field_0": "religion",
        "question_label_0": "Your religion",
        "question_choices_0": "none\nother",
        "completion_code": "C0DE",
        "self_enrol": "",
    }
    assert fill("recruitment", {**RECRUITMENT, **asked}).status_code == 302
    fill("open", {"make": "1"})
    study = Study.objects.get()
    assert study.tasks.get().translations["es"]["wording"] == spanish["visual_nature_wording_es"]
    assert {text.language for text in study.consent_texts.all()} == {"en", "es"}
    assert (study.support_text, study.session_cap, study.break_after) == ("Call us.", 100, 0)
    assert study.blur_images
    assert not study.self_enrol
    assert study.completion_code == "C0DE"
    assert study.questions == [{"field": "religion", "label": "Your religion", "choices": ["none", "other"]}]


SPANISH = {
    "source": {"title_es": "¿Qué se ve?", "description_es": "Imágenes.\r\n\r\nY palabras."},
    "consent": {
        "text_es": "Usted valora palabras.",
        "content_warning_es": "Hay sangre.",
        "support_text_es": "Llámenos.",
    },
    "recruitment": {
        "question_field_0": "craft",
        "question_label_0": "Your craft",
        "question_choices_0": "weaver\nbaker",
        "question_label_0_es": "Su oficio",
        "question_choices_0_es": "quien teje\r\nquien hornea",
    },
}
PAGES = {"source": SOURCE, "consent": CONSENT, "recruitment": RECRUITMENT}


def test_the_studys_own_texts_are_given_in_other_languages(begun, fill, client):
    fill("source", SOURCE)
    for step, said in SPANISH.items():
        assert fill(step, {**PAGES[step], **said}).status_code == 302
    fill("open", {"make": "1"})
    study = Study.objects.get()
    assert study.translations == {
        "es": {
            "title": "¿Qué se ve?",
            "description": "Imágenes.\n\nY palabras.",
            "support_text": "Llámenos.",
        }
    }
    assert study.questions == [
        {
            "field": "craft",
            "label": "Your craft",
            "choices": ["weaver", "baker"],
            "translations": {"es": {"label": "Su oficio", "choices": ["quien teje", "quien hornea"]}},
        }
    ]
    page = client.get(reverse("setup_step", args=["visual-2026", "recruitment"])).text
    assert 'value="Su oficio" maxlength="300" lang="es" dir="auto"' in page
    assert "quien teje\nquien hornea</textarea>" in page

    # taken away again, each text on its page and the others left
    fill("source", SOURCE)
    fill("open", {"make": "1"})
    study.refresh_from_db()
    assert study.translations == {"es": {"support_text": "Llámenos."}}
    fill("consent", CONSENT)
    fill("open", {"make": "1"})
    study.refresh_from_db()
    assert study.translations == {}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"question_choices_0_es": "quien teje"}, "Choices in Español: 1, in English: 2."),
        ({"question_choices_0": ""}, "Choices in Español: 2, in English: 0."),
        ({"question_label_0_es": ""}, "Write the question in Español as well."),
        ({"question_label_0": ""}, "Write the question."),
        (
            {"question_field_0": "", "question_label_0": "", "question_choices_0": ""},
            "A short name starts with a lowercase letter",
        ),
    ],
)
def test_a_question_that_is_half_translated_is_pointed_at(begun, fill, settings, changed, says):
    settings.LANGUAGES = [("en", "English"), ("es", "Español"), ("ar", "العربية")]
    fill("source", SOURCE)
    answer = fill("recruitment", {**RECRUITMENT, **SPANISH["recruitment"], **changed})
    assert answer.status_code == 422
    assert says in answer.text.partition('id="question_error_0"')[2].partition("</ul>")[0]
    assert 'name="question_choices_0_es"' in answer.text, "what was typed is kept"


def test_a_title_that_is_too_long_in_a_language_is_refused_beside_it(begun, fill):
    answer = fill("source", {**SOURCE, "title_es": "x" * 201})
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["title_es"]


def test_what_a_language_that_is_not_offered_says_of_a_question_goes_with_its_row(begun, fill, client, lead):
    fill("source", SOURCE)
    document = setup_services.documents(user=lead)["visual-2026"]
    french = {"fr": {"label": "Votre métier", "choices": ["tisser", "cuire"]}}
    setup_services.save(
        user=lead,
        name="visual-2026",
        document={
            **document,
            "questions": [
                {"field": "town", "label": "Your town"},
                {"field": "craft", "label": "Craft", "choices": ["weaver", "baker"], "translations": french},
            ],
        },
    )
    moved = {
        "question_field_1": "trade",
        "question_label_1": "Trade",
        "question_choices_1": "weaver\nbaker",
    }
    assert fill("recruitment", {**RECRUITMENT, **moved}).status_code == 302
    (trade,) = setup_services.documents(user=lead)["visual-2026"]["questions"]
    assert trade == {
        "field": "trade",
        "label": "Trade",
        "choices": ["weaver", "baker"],
        "translations": french,
    }
    fewer = {"question_field_0": "trade", "question_label_0": "Trade", "question_choices_0": "weaver"}
    answer = fill("recruitment", {**RECRUITMENT, **fewer})
    assert answer.status_code == 422
    assert "Choices in fr: 2, in English: 1." in answer.text


def test_a_question_without_its_words_is_pointed_at(begun, fill):
    fill("source", SOURCE)
    answer = fill("recruitment", {**RECRUITMENT, "question_field_1": "religion"})
    assert answer.status_code == 422
    assert 'id="question_error_1"' in answer.text
    assert 'value="religion"' in answer.text, "what was typed is kept"


def test_the_short_name_of_a_question_has_thirty_characters_at_most(begun, fill, lead):
    fill("source", SOURCE)
    asked = {**RECRUITMENT, "question_label_0": "Your craft"}
    assert 'id="question_error_0"' in fill("recruitment", {**asked, "question_field_0": "x" * 31}).text
    assert fill("recruitment", {**asked, "question_field_0": "x" * 30}).status_code == 302


def test_a_study_that_cannot_be_copied_is_said_once(lead):
    factories.study("whole", leads=[lead])
    form = NewStudyForm({"template": "copy", "copy_of": "another", "title": "Words"}, user=lead)
    assert len(form.errors["copy_of"]) == 1
    form = NewStudyForm({"template": "copy", "copy_of": "", "title": "Words"}, user=lead)
    assert form.errors["copy_of"] == ["Choose the study to copy."]
    assert NewStudyForm({"template": "copy", "copy_of": "whole", "title": "Words"}, user=lead).is_valid()


def test_a_title_that_turns_a_page_around_is_refused_beside_its_field(begun, fill, client):
    told = "There is an invisible character that turns text around (U+202E)."
    new = client.post(reverse("setup"), {"title": "What can \u202ebe seen?", "name": "turned"})
    assert new.status_code == 422
    assert new.context["new"].errors["title"][0].startswith(told)
    answer = fill("source", {**SOURCE, "title": "What can \u202ebe seen?"})
    assert answer.status_code == 422
    assert answer.context["form"].errors["title"][0].startswith(told)


def test_the_preview_shows_the_wording_with_something_in_its_places(begun, fill, client):
    fill("source", SOURCE)
    fill("tasks", {**TASKS, "visual_nature_wording": "Can <b> [attr] be seen?"})
    shown = client.get(reverse("setup_step", args=["visual-2026", "tasks"]))
    assert "Can &lt;b&gt; <strong>Sombrero</strong> be seen?" in shown.text
    assert "Strongly agree" in shown.text


def test_leads_are_told_what_annotators_of_each_language_will_see(begun, fill, client):
    def seen() -> dict[str, str]:
        tasks = client.get(reverse("setup_step", args=["visual-2026", "tasks"])).context["tasks"]
        return {each["code"]: each["preview"]["seen"] for each in tasks[0]["languages"]}

    fill("source", SOURCE)
    assert seen() == {"es": "usual", "ar": "usual"}
    page = client.get(reverse("setup_step", args=["visual-2026", "tasks"]))
    assert "El atributo &#x27;<strong>sombrero</strong>&#x27; se puede" in page.text.lower().replace(
        "el atributo", "El atributo"
    )
    fill("tasks", {**TASKS, "visual_nature_wording": "Can [attr] be seen?"})
    assert seen() == {"es": "english", "ar": "english"}
    fill("tasks", {**TASKS, "visual_nature_wording_ar": "هل تُرى [attr]؟"})
    assert seen() == {"es": "usual", "ar": "own"}


FILE = """
name = "from-file"
title = "From a file"
contact = "studies@example.org"
[consent]
text = "Please."
[quality]
training_pass = 0.5
[[tasks]]
kind = "visual_nature"
attributes = ["hat", "kind"]
[[tasks.examples]]
text = "hat"
answer = "Strongly agree"
[[tasks.training]]
attribute = "sombrero"
expected = ["Strongly agree"]
feedback = "It can."
"""


def upload(client, text: str | bytes):
    content = text.encode() if isinstance(text, str) else text
    file = SimpleUploadedFile("study.toml", content)
    return client.post(reverse("setup"), {"upload": "1", "file": file})


def test_an_uploaded_file_is_set_up_and_keeps_what_the_pages_do_not_ask(client, lead, fill):
    assert upload(client, FILE).url == reverse("setup_step", args=["from-file", "open"])
    data = {**SOURCE, "visual_nature_words": "hat\nkind\npoor"}
    assert fill("source", data, "from-file").status_code == 302
    answer = fill("open", {"make": "1"}, "from-file")
    assert answer.status_code == 302, answer.context["problems"]
    study = Study.objects.get()
    assert study.tasks.get().units.filter(purpose="training").count() == 1
    assert study.tasks.get().units.filter(purpose="data").count() == 3
    assert study.tasks.get().examples[0]["text"] == "hat"
    assert study.training_pass == 0.5


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (FILE.replace('"studies@example.org"', '""'), "contact is missing"),
        ("name = ", "not valid TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (FILE.replace('["hat", "kind"]', '{ file = "/etc/passwd" }'), "List the attributes instead"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(client, lead, content, says):
    client.force_login(lead)
    answer = upload(client, content)
    assert answer.status_code == 422
    assert says in str(answer.context["upload"].errors)
    assert '<a href="#id_file">' in answer.text, "the form is at the end of a long page"
    assert setup_services.documents(user=lead) == {}


def test_a_downloaded_file_can_be_changed_and_sent_back(begun, fill, client, lead):
    filled_in(fill)
    fill("open", {"make": "1"})
    file = client.get(reverse("setup_file", args=["visual-2026"])).text
    answer = upload(client, file.replace("Think of any image.", "Think of a photo."))
    assert answer.url == reverse("setup_step", args=["visual-2026", "open"])
    assert Study.objects.get().tasks.get().instructions == "Think of any image.", "not before it is asked for"
    fill("open", {"make": "1"})
    assert Study.objects.get().tasks.get().instructions == "Think of a photo."


def test_the_home_page_tells_of_what_has_no_draft_yet(begun, fill, client):
    said = "You have begun to set up 1 study."
    assert said in client.get("/").text
    filled_in(fill)
    fill("open", {"make": "1"})
    assert said not in client.get("/").text
    factories.user("another", lead=True)
    client.force_login(get_user_model().objects.get(username="another"))
    assert "You lead no study yet." in client.get("/").text


def test_what_was_opened_meanwhile_can_only_be_discarded(begun, fill, client, lead):
    filled_in(fill)
    factories.study("visual-2026", leads=[lead])
    assert fill("source", SOURCE).status_code == 302
    assert "Discard your entries" in client.get(reverse("setup")).text
    assert upload(client, FILE.replace("from-file", "visual-2026")).status_code == 422
    client.post(reverse("setup_discard", args=["visual-2026"]))
    assert setup_services.documents(user=lead) == {}


@pytest.mark.parametrize("page", ["setup_step", "setup_file", "setup_gold", "study_images"])
def test_its_leads_are_sent_on_to_a_study_that_is_open_and_nobody_else(client, lead, page):
    factories.study("visual-2026", leads=[lead])
    address = reverse(page, args=["visual-2026", *(["open"] if page == "setup_step" else [])])
    client.force_login(lead)
    answer = client.get(address, follow=True)
    assert answer.redirect_chain == [(reverse("overview", args=["visual-2026"]), 302)]
    assert "This study has already been opened" in answer.text
    client.force_login(creator("another"))
    assert client.get(address).status_code == 404


def test_what_stands_in_a_part_that_is_switched_off_is_no_error(begun, fill):
    assert fill("source", {**SOURCE, "prevalence_limit": "0"}).status_code == 302
    assert fill("source", {**SOURCE, "prevalence_limit": "0", "prevalence_on": "on"}).status_code == 422


def test_the_downloaded_file_reads_back_as_what_was_filled_in(begun, fill, client):
    filled_in(fill)
    answer = client.get(reverse("setup_file", args=["visual-2026"]))
    assert answer["Content-Disposition"] == 'attachment; filename="visual-2026.toml"'
    assert read_study_text(answer.text).tasks[0].attributes == ("sombrero", "kind", "poor")
    assert tomllib.loads(answer.text)["consent"]["text"] == CONSENT["text"]


def test_a_lead_makes_nobody_else_a_lead_and_learns_of_no_account(client, lead):
    client.force_login(lead)
    factories.user("maria")
    answers = []
    for name in ("maria", "nobody"):
        toml = FILE.replace("title =", f'leads = ["{name}"]\ntitle =').replace("from-file", f"a-{name}")
        upload(client, toml)
        answers.append(client.post(reverse("setup_step", args=[f"a-{name}", "open"]), {"make": "1"}))
    assert [answer.status_code for answer in answers] == [422, 422]
    assert answers[0].context["problems"] == answers[1].context["problems"]
    assert "maria" not in answers[1].context["problems"][0]["text"]
    assert not Study.objects.exists()


def test_an_admin_names_the_leads(client):
    client.force_login(factories.user("admin", admin=True))
    factories.user("maria")
    client.post(reverse("setup"), {"title": "T", "name": "t"})
    for step, data in (("source", {**SOURCE, "leads": "admin, maria"}), ("consent", CONSENT)):
        client.post(reverse("setup_step", args=["t", step]), data)
    client.post(reverse("setup_step", args=["t", "open"]), {"make": "1"})
    assert {user.username for user in Study.objects.get().leads.all()} == {"admin", "maria"}


def test_another_teams_draft_is_out_of_reach(client, lead):
    theirs = factories.study("theirs", status=StudyStatus.DRAFT, leads=[factories.user("them")])
    client.force_login(lead)
    answer = client.post(reverse("setup"), {"title": "Mine", "name": "theirs"})
    assert "with this name already exists" in str(answer.context["new"].errors["name"])
    sent = upload(client, FILE.replace("from-file", "theirs"))
    assert "with this name already exists" in str(sent.context["upload"].errors["file"])
    for url in (
        reverse("setup_step", args=["theirs", "source"]),
        reverse("setup_step", args=["theirs", "open"]),
        reverse("setup_file", args=["theirs"]),
    ):
        assert client.get(url).status_code == 404
    # begun before the other team took the name
    setup_services.save(user=lead, name="theirs", document={"title": "Mine"})
    assert client.post(reverse("setup_step", args=["theirs", "open"]), {"make": "1"}).status_code == 404
    with pytest.raises(setup_services.SetupRefused, match="another study named"):
        setup_services.save_draft(user=lead, name="theirs", document={}, may_name_leads=False)
    theirs.refresh_from_db()
    assert theirs.title == "theirs"


def test_a_draft_made_by_a_file_can_be_changed_by_who_leads_it(client, lead, fill):
    studies.apply_file(file=read_study_text(FILE.replace("title =", 'leads = ["lead"]\ntitle =')), by=None)
    shown = client.get(reverse("setup_step", args=["from-file", "source"]))
    assert "hat\nkind" in shown.text
    assert fill("consent", {**CONSENT, "text": "Changed."}, "from-file").status_code == 302
    assert fill("open", {"make": "1"}, "from-file").status_code == 302
    study = Study.objects.get()
    assert study.consent_texts.get().text == "Changed."
    assert [*study.leads.all()] == [lead]


@pytest.mark.parametrize("named", [[], ["lead", "maria"]])
def test_a_draft_keeps_its_other_leads_when_one_of_them_changes_it(lead, named):
    factories.user("maria")
    file = FILE.replace("title =", 'leads = ["lead", "maria"]\ntitle =')
    study = studies.apply_file(file=read_study_text(file), by=None).study
    document = {**tomllib.loads(FILE), "leads": named}
    setup_services.save_draft(user=lead, name=study.name, document=document, may_name_leads=False)
    assert {user.username for user in study.leads.all()} == {"lead", "maria"}


def test_discarding_forgets_what_was_filled_in(begun, client, lead):
    client.post(reverse("setup_discard", args=["visual-2026"]))
    assert setup_services.documents(user=lead) == {}


@pytest.mark.parametrize("name", ["Visual 2026", "a/b", "-a", "ä", "a" * 81])
def test_a_name_that_cannot_stand_in_addresses_is_refused(client, lead, name):
    client.force_login(lead)
    answer = client.post(reverse("setup"), {"title": "T", "name": name})
    assert answer.status_code == 422
    assert answer.context["new"].errors["name"]


def test_a_page_that_there_is_not_is_not_found(begun, client):
    assert client.get("/setup/visual-2026/nowhere/").status_code == 404


def test_the_first_page_offers_setting_up_to_those_who_may(client, lead):
    client.force_login(lead)
    assert reverse("setup") in client.get("/").text
    client.force_login(factories.user())
    assert reverse("setup") not in client.get("/").text


def test_too_many_and_too_large_are_refused(lead):
    for number in range(setup_services.MOST_DRAFTS):
        setup_services.save(user=lead, name=f"s{number}", document={})
    with pytest.raises(setup_services.SetupRefused, match="Discard one"):
        setup_services.save(user=lead, name="more", document={})
    longest = setup_services.LARGEST_BYTES - len('{"title": ""}')
    setup_services.save(user=lead, name="s0", document={"title": "x" * longest})
    with pytest.raises(setup_services.SetupRefused, match="too large"):
        setup_services.save(
            user=lead, name="s0", document={"description": "x" * setup_services.LARGEST_BYTES}
        )
