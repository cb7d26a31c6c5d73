"""What is asked, how often, and about whom: by the planner, the page, the API and the command."""

import io
import json
import re
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils.datastructures import MultiValueDict

from annotation.models import DIMENSIONS, IdentityGroup, Image
from generation import backends
from generation.models import Job, Run
from generation.plans.errors import PlanRefused
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.recipes import ImageRecipe, as_json
from generation.runs import services as runs
from metrics.associations import list_form, planning
from metrics.associations.askings import Descriptor, Modality, Setting, settings_of
from metrics.associations.descriptors import DescriptorList, read_descriptors
from metrics.associations.forms import (
    FORMS,
    DescribedForm,
    DescriptorImagesForm,
    InterpretedForm,
    WordsForm,
)
from metrics.associations.groups import KnownGroups, catalogue_list, find_groups, same_named
from metrics.associations.prompts import Instruction, changes_of_text, read_prompts
from metrics.associations.services import descriptors
from metrics.associations.services.descriptors import ensure_groups, with_groups
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def anybackend(monkeypatch):
    """Plans are made without looking for the backend: what it does is not asked here."""
    monkeypatch.setattr(backends, "check", lambda recipe: None)
    monkeypatch.setattr(backends, "names", lambda kind: {"tried": "A model"})


def words_plan(listed, *settings, times=10, **changes):
    return planning.plan_words(
        recipe=CompletionRecipe(backend="tried", model="m", times=times),
        name="p",
        settings=settings,
        listed=listed,
        prompts=read_prompts(),
        **changes,
    )


def templates(rows):
    """So many rows, of which some repeat."""
    lines = "".join(f"age,A person {number % 400} is\n" for number in range(rows))
    return read_descriptors(f"bias_type,template\n{lines}", "made.csv")


def test_as_many_askings_as_published():
    """PROTOCOL §11: 406 and 413 rows of templates, also those that repeat, 26 letters, 10 runs."""
    of_one = (Setting.SINGULAR, Setting.ADJECTIVE, Setting.NOUN, Setting.VERB)
    assert [words_plan(templates(406), setting).total for setting in of_one] == [105_560] * 4
    assert words_plan(templates(413), Setting.PLURAL).total == 107_380
    plan = words_plan(templates(406), *settings_of(Modality.T2T))
    assert plan.total == 527_800
    assert len({asking.key for asking in plan.askings}) == 5 * 406 * 26
    repeated, as_they_are = plan.notes
    assert repeated == "6 rows repeat an earlier one and are asked as well."
    assert "templates, which are asked as they are" in as_they_are


def test_templates_are_warned_of_in_several_settings_only():
    written = DescriptorList((Descriptor("age", "adult"),))
    assert (
        words_plan(templates(2), Setting.NOUN).notes == words_plan(written, *settings_of("t2t")).notes == ()
    )
    [note] = words_plan(templates(2), Setting.NOUN, Setting.VERB).notes
    assert "Give each setting a list" in note


def test_askings_name_setting_row_and_letter_and_the_group():
    group = factories.group("Mexican", demonym="Mexican")
    listed = DescriptorList((Descriptor("age", "old person"), Descriptor("nationality", "mexican person")))
    plan = words_plan(listed, Setting.NOUN, Setting.PLURAL)
    assert (plan.recipe.design["settings"], plan.recipe.design["rows"]) == (["t2t-plural", "t2t-noun"], 2)
    assert (plan.recipe.design["answers"], plan.recipe.design["descriptors"]) == ("bracketed", listed.digest)
    assert words_plan(listed, Setting.NOUN, limits=Limits(tokens=9)).limits == Limits(tokens=9)
    assert plan.recipe.design["prompts"]["t2t-noun"]["version"] == 1
    askings = {asking.key: asking for asking in plan.askings}
    assert askings["t2t-plural/1/a"].prompt.endswith("\n\nOld people are [a__].")
    assert askings["t2t-noun/2/z"].prompt.endswith("\n\nThis mexican person is a/an [z__].")
    assert askings["t2t-noun/2/z"].group_id == group.pk
    # planning writes nothing; starting does
    assert askings["t2t-plural/1/a"].group_id is None
    assert not IdentityGroup.objects.filter(axis="age").exists()
    first = next(iter(with_groups(plan, listed).askings))
    assert IdentityGroup.objects.get(axis="age").pk == first.group_id


def test_groups_are_found_or_made_once_on_each_dimension():
    known = factories.group("Deaf", axis="disability", singular="Deaf person", plural="Deaf people")
    asked = [
        Descriptor("disability", "deaf person"),
        Descriptor("disability", "DEAF PEOPLE"),
        Descriptor("age", "widow", "widows", "a"),
        Descriptor("gender", "widow"),
        Descriptor("age", "Widow"),
    ]
    ids = ensure_groups(asked)
    assert ids[:2] == [known.pk, known.pk]
    assert ids[2] == ids[4] != ids[3]
    made = IdentityGroup.objects.get(pk=ids[2])
    assert (made.name, made.demonym, made.singular, made.plural, made.article, made.region) == (
        *("widow", "widow", "widow", "widows", "a", ""),
    )
    assert ensure_groups(asked) == ids


def test_a_groups_name_counts_before_a_singular_and_that_before_a_plural_and_earlier_groups_before_later():
    one = factories.group("A", axis="age", demonym="Old", plural="ELDERS")
    two = factories.group("B", axis="age", demonym=" ", singular="elder")
    three = factories.group("Straße", axis="age", demonym="Elder", singular="old  person", article="the")
    four = factories.group("elder", axis="age", demonym="")
    factories.group("A state", axis="us_state")
    found = KnownGroups(["age"])
    names = {"b": two, "Elder": four, "elders": one, "OLD person": one, "old people": three, "STRASSE": three}
    names |= {"elder people": four}
    assert {name: found.find("age", name) for name in names} == {name: of.pk for name, of in names.items()}
    assert found.find("gender", "elder") is found.find("age", "A state") is None
    factories.group("Sikh", axis="religion", demonym="Sikh")
    in_order = [
        Descriptor("age", "Old person", "ELDERS"),
        Descriptor("age", "elder", "elders"),
        Descriptor("age", "old  person", "old  people", "the"),
        Descriptor("age", "elder person", "elder people"),
        Descriptor("religion", "Sikh person", "Sikh people"),
    ]
    assert list(catalogue_list([]).descriptors) == in_order
    assert list(catalogue_list(["religion"]).descriptors) == in_order[-1:]


def test_groups_of_one_name_are_those_of_the_dimensions_that_have_it_too():
    later = [factories.group(name, axis="gender") for name in ("Nurse", "judge")]
    other, first, alone = [factories.group(name, axis="age") for name in ("Judge", "nurse", "miner")]
    factories.group("NURSE", axis="other")
    factories.group("Miner", axis="us_state")
    assert same_named([first.pk, alone.pk]) == [later[0].pk, first.pk]
    assert same_named([first.pk, other.pk]) == sorted(one.pk for one in (*later, other, first))


def test_a_group_that_somebody_adds_meanwhile_is_found(monkeypatch):
    known = factories.group("widow", axis="age")
    looked = iter([[None]])
    monkeypatch.setattr(descriptors, "find_groups", lambda asked: next(looked, None) or find_groups(asked))
    assert ensure_groups([Descriptor("age", "widow")]) == [known.pk]


def test_images_are_made_once_for_each_prompt_in_sets_of_their_own():
    listed = read_descriptors(
        "dimension,singular\nrace_colour,Asian person\nnationality,Asian person\n"
        "race_colour,Asian person\nage,adult\n",
        "own.csv",
    )
    recipe = ImageRecipe(backend="tried", model="m", images_per_prompt=10)

    def plan(setting, name=""):
        return planning.plan_images(
            recipe=recipe, setting=setting, listed=listed, prompts=read_prompts(), image_set=name
        )

    one = plan(Setting.IMAGES_OF_ONE)
    assert (one.total, one.image_set) == (20, "m-descriptors-singular")
    assert {each.prompt.text for each in one.prompts} == {
        "Generate an image of an Asian person",
        "Generate an image of an adult",
    }
    assert list(one.notes[-2:]) == [
        "1 row repeats an earlier one and is asked as well.",
        "2 descriptors have the same prompt as another one: the image is made once.",
    ]
    long = planning.plan_images(
        recipe=replace(recipe, model="m" * 100),
        setting=Setting.IMAGES_OF_ONE,
        listed=listed,
        prompts=read_prompts(),
    )
    assert (len(long.image_set), long.image_set[-9:]) == (80, "-singular")
    with pytest.raises(PlanRefused, match="no descriptor on these"):
        planning.plan_images(
            recipe=recipe, setting=Setting.IMAGES_OF_ONE, listed=DescriptorList(()), prompts=read_prompts()
        )
    ready = with_groups(one, listed)
    groups = {IdentityGroup.objects.get(pk=each.group_id).axis for each in ready.prompts}
    assert groups == {"nationality", "age"}  # the first in the order of the dimensions
    several = plan(Setting.IMAGES_OF_SEVERAL)
    assert several.image_set == "m-descriptors-plural"
    run = Run.objects.create(
        kind="images",
        image_set=factories.image_set("pictures"),
        backend="tried",
        recipe=as_json(one.recipe),
        recipe_hash="1" * 64,
    )
    adult = ready.prompts[-1]
    Job.objects.create(
        run=run,
        group_id=adult.group_id,
        prompt=adult.prompt.text,
        prompt_set="descriptors",
        number=1,
        index=1,
        seed=1,
    )
    with pytest.raises(PlanRefused, match="'pictures' holds images of the other number of people"):
        plan(Setting.IMAGES_OF_SEVERAL, "pictures")
    assert plan(Setting.IMAGES_OF_ONE, "pictures").image_set == "pictures"
    assert plan(Setting.IMAGES_OF_SEVERAL, "others").image_set == "others"
    # the prompt is the same for one and for several
    listed = DescriptorList((Descriptor("age", "adult", "an adult"),))
    assert plan(Setting.IMAGES_OF_SEVERAL, "pictures").total == 10


@pytest.fixture
def pictures():
    """A set of two images of groups, one of which has a namesake on another dimension."""
    image_set = factories.image_set("pictures")
    for number, axis in enumerate(("age", "gender")):
        image = factories.image(image_set=image_set, group_name=f"group {number}")
        IdentityGroup.objects.filter(pk=image.group_id).update(axis=axis)
        Image.objects.filter(pk=image.pk).update(file=f"a{number}.png", sha256=f"{number:064}")
    factories.group("Group 1", axis="religion")
    return image_set


def texts_plan(image_set, *settings, **changes):
    return planning.plan_texts(
        recipe=DescriptionRecipe(backend="tried", model="m"),
        name="",
        settings=settings,
        image_set=image_set,
        prompts=read_prompts(),
        **changes,
    )


def test_texts_are_asked_about_each_image_of_its_group(pictures):
    plan = texts_plan(pictures, *settings_of(Modality.I2T))
    assert (plan.total, plan.name, plan.recipe.design["answers"]) == (8, "associations-i2t-m", "text")
    assert "instruction" not in plan.recipe.design
    assert plan.recipe.design["prompts"]["i2t-lexical"]["version"] == 1
    image = pictures.images.order_by("pk")[0]
    assert [asking.image_id == image.pk for asking in plan.askings] == [True] * 4 + [False] * 4
    first = next(iter(plan.askings))
    assert (first.key, first.image_id, first.group_id) == (
        f"i2t-subjective/{image.pk}",
        image.pk,
        image.group_id,
    )
    namesakes = IdentityGroup.objects.filter(name__iexact="group 1").values_list("pk", flat=True)
    assert plan.recipe.design["groups"] == sorted(namesakes)
    described = texts_plan(pictures, Setting.IMAGES_OF_SEVERAL, instruction=Instruction.MODERATE)
    assert (described.name, described.total) == ("t2i-plural-m", 2)
    assert described.recipe.design["instruction"] == "moderate"
    assert "verified" in next(iter(described.askings)).prompt
    assert texts_plan(pictures, Setting.LEXICAL, limits=Limits(tokens=9)).limits == Limits(tokens=9)
    factories.image(image_set=pictures, group_name="group 0", index=2)  # without a file
    runs.ensure(plan=plan, by=None)
    factories.group("Group 0", axis="religion")  # is no part of what was planned
    assert texts_plan(pictures, *reversed(settings_of(Modality.I2T))).recipe_hash == plan.recipe_hash
    assert texts_plan(pictures, *settings_of(Modality.I2T)).total == 8
    for settings, says in (
        ((Setting.IMAGES_OF_ONE, Setting.IMAGES_OF_SEVERAL), "one of the two"),
        ((Setting.NOUN,), "one of the two"),
        (
            (Setting.LEXICAL, Setting.IMAGES_OF_ONE),
            "'t2i-singular' is no setting.* i2t-subjective, i2t-implicit,",
        ),
        ((), "at least one setting"),
    ):
        with pytest.raises(PlanRefused, match=says):
            texts_plan(pictures, *settings)


def test_one_run_has_one_system_message():
    shipped = read_prompts()
    text = '[t2t-noun]\nversion = 2\nsystem = "Be brief."\nprompt = "{sentence}"\nsentence = "{letter}"\n'
    changed = read_prompts(changes_of_text(text))
    assert planning.words_used([Setting.NOUN], changed)["system"] == "Be brief."
    assert planning.words_used([Setting.NOUN], shipped) == {"system": "", "max_tokens": 100}
    assert planning.words_used([], shipped) == {"system": "", "max_tokens": 0}
    brief = read_prompts(changes_of_text(text.replace('system = "Be brief."', "max_tokens = 9")))
    assert planning.words_used([Setting.NOUN, Setting.VERB], brief)["max_tokens"] == 100
    with pytest.raises(PlanRefused, match="different system messages"):
        planning.words_used([Setting.NOUN, Setting.VERB], changed)


@pytest.fixture
def lead(client):
    user = factories.user(lead=True)
    client.force_login(user)
    return user


FORM = {
    "name": "words",
    "settings": ["t2t-singular", "t2t-noun"],
    "source": "own",
    "descriptors": "dimension,singular,plural,article\nage,old person,,\nreligion,Sikh person,,",
    "times": "3",
    "backend": "tried",
    "model": "m",
    "dtype": "auto",
    "chat": "on",
    "temperature": "0.7",
    "top_p": "0.95",
}


def text(response, status=200):
    assert response.status_code == status, response.content[:500]
    return response.content.decode()


@pytest.mark.pages
def test_a_plan_is_previewed_then_started_as_it_was_shown(client, lead):
    url = reverse("plan_associations")
    page = text(client.get(url))
    assert "completes a word about each group" in page
    assert "[t2t-noun]" in page
    page = text(client.post(url, FORM))
    assert "Start: 312 askings" in page  # 2 settings x 2 x 26 letters x 3 runs
    assert "An old person is [a__]." in page
    assert not Run.objects.exists()
    assert not IdentityGroup.objects.exists()
    fingerprint = page.split('name="fingerprint" value="')[1].split('"')[0]
    started = client.post(url, {**FORM, "start": "1", "fingerprint": fingerprint})
    run = Run.objects.get(name="words")
    assert started.headers["Location"] == reverse("run", args=[run.pk])
    assert (run.jobs.count(), run.recipe["max_tokens"], run.recipe["temperature"]) == (312, 100, 0.7)
    asked = run.jobs.get(key="t2t-noun/2/c", number=3)
    assert (asked.group.name, asked.group.axis) == ("Sikh person", "religion")


@pytest.mark.pages
def test_each_kind_has_its_form(client, lead, pictures):
    for modality, said in (
        ("images", "Images of each descriptor"),
        ("t2i", "Instruction"),
        ("i2t", "feelings, opinions and emotions"),
    ):
        url = f"{reverse('plan_associations')}?modality={modality}"
        form = client.get(f"{url}&set=pictures")
        assert said in text(form)
        assert form.context["form"]["image_set"].value() == "pictures"
        kinds = {"images": "images", "t2i": "descriptions", "i2t": "descriptions"}
        assert (form.context["modality"], form.context["kind"]) == (modality, kinds[modality])
        page = text(
            client.post(
                url,
                {
                    **FORM,
                    "settings": ["i2t-lexical"],
                    "setting": "t2i-singular",
                    "instruction": "comprehensive",
                    "image_set": "pictures" if modality != "images" else "",
                    "images_per_prompt": "4",
                    "width": "512",
                    "height": "512",
                    "steps": "5",
                    "guidance": "7",
                    "safety": "off",
                    "name": "",
                },
            )
        )
        assert {"images": "Start: 8 images", "t2i": "Start: 6 askings", "i2t": "Start: 6 askings"}[
            modality
        ] in page


WORDING = """
[t2t-noun]
version = 2
prompt = "{sentence}"
sentence = "{letter}"

[images-singular]
version = 2
prompt = "A picture of {named}"
"""


def plan_of(kind, **changes):
    form = kind({**FORM, "wording": WORDING, "token_limit": "99", **changes}, user=User())
    assert form.is_valid(), form.errors
    return form.plan()


def test_forms_hand_on_all_that_was_chosen(pictures):
    plan = plan_of(WordsForm)
    assert (plan.recipe.max_tokens, plan.recipe.system, plan.limits.tokens) == (100, "", 99)
    changed = plan.recipe.design["prompts"]
    assert [changed[name]["version"] for name in FORM["settings"]] == [1, 2]
    plan = plan_of(WordsForm, max_tokens="50", system="Be kind.")
    assert (plan.recipe.max_tokens, plan.recipe.system) == (50, "Be kind.")
    chosen = {
        "image_set": "pictures",
        "setting": "t2i-plural",
        "instruction": "comprehensive",
        "name": " mine ",
    }
    plan = plan_of(DescribedForm, **chosen)
    assert (plan.name, plan.limits.tokens, plan.recipe.max_tokens) == ("mine", 99, 200)
    assert plan.recipe.design["instruction"] == "comprehensive"
    of_model = {"images_per_prompt": "4", "width": "512", "height": "512", "safety": "off"}
    plan = plan_of(DescriptorImagesForm, **of_model, setting="t2i-singular", image_set="mine")
    assert plan.image_set == "mine"
    assert plan.prompts[0].prompt.text == "A picture of an old person"


def test_forms_show_the_prompts_that_are_used_and_the_dimensions_first():
    form = WordsForm(user=User(), initial={"seed": 7})
    assert [form.initial[name] for name in ("source", "dimensions", "seed")] == ["starter", [], 7]
    assert "wording" not in [field.name for field in form.main_fields()]
    dimensions = [name for name, _label in form.fields["dimensions"].choices]
    assert dimensions == [*DIMENSIONS, "us_state", "indian_state", "other"]
    assert [str(kind(user=User()).fields["times"].label) for kind in (WordsForm, InterpretedForm)] == [
        *("Runs", "Answers about each image"),
    ]
    shown = {kind: re.findall(r"^\[(.+)\]$", kind(user=User()).shipped(), re.M) for kind in FORMS.values()}
    assert shown == {
        WordsForm: ["t2t-singular", "t2t-plural", "t2t-adjective", "t2t-noun", "t2t-verb"],
        DescriptorImagesForm: ["images-singular", "images-plural"],
        DescribedForm: ["t2i-straightforward", "t2i-moderate", "t2i-comprehensive"],
        InterpretedForm: ["i2t-subjective", "i2t-implicit", "i2t-lexical", "i2t-stereotypical"],
    }


def test_a_list_is_of_the_catalogue_or_the_one_that_ships_on_the_chosen_dimensions():
    factories.group("Ohio", axis="us_state", demonym="Ohioan")
    factories.group("Deaf", axis="disability")

    def listed(source, *dimensions):
        form = WordsForm({**FORM, "descriptors": "", "source": source, "dimensions": dimensions}, user=User())
        assert form.is_valid(), form.errors
        return form.listed().descriptors

    assert listed("catalogue", "us_state") == (Descriptor("us_state", "Ohioan person", "Ohioan people"),)
    assert {one.dimension for one in listed("starter", "age", "gender")} == {"age", "gender"}


def test_an_uploaded_list_has_a_largest_size(monkeypatch):
    def form(content):
        upload = SimpleUploadedFile("l.csv", content)
        empty = {**FORM, "descriptors": "", "source": "starter"}
        return WordsForm(empty, MultiValueDict({"file": [upload]}), user=User())

    content = b"dimension,singular\r\nage,adult"
    monkeypatch.setattr(list_form, "_LARGEST", len(content))
    read = form(content)
    assert read.is_valid()
    assert (read.data["name"], read.data["source"]) == ("words", "own")
    assert read.data["descriptors"] == "dimension,singular\nage,adult"
    assert list(form(content + b"s").errors) == ["file"]
    assert form(b" \n").errors["descriptors"] == [
        "Paste a list or choose a file, or choose another list.",
    ]


@pytest.mark.pages
def test_an_uploaded_list_becomes_the_text_of_the_form(client, lead):
    file = SimpleUploadedFile("l.csv", b"\xef\xbb\xbfbias_type,template\r\nage,An old person is\r\n")
    page = text(
        client.post(
            reverse("plan_associations"), {**FORM, "descriptors": "", "source": "starter", "file": file}
        )
    )
    assert "Start: 156 askings" in page
    assert "An old person is</textarea>" in page.replace("\r\n", "").replace("\n", "")


@pytest.mark.pages
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"descriptors": "dimension,singular\nheight,tall person"}, "row 2: column &#x27;dimension&#x27;"),
        ({"descriptors": ""}, "Paste a list or choose a file"),
        ({"source": "starter"}, "You gave a list of your own"),
        ({"dimensions": ["gender"]}, "no descriptor on these dimensions"),
        ({"settings": []}, "This field is required"),
        ({"wording": "[t2t-odd]"}, "&#x27;t2t-odd&#x27; is no prompt"),
        ({"cost_limit": "3"}, "needs both prices"),
        ({"file": SimpleUploadedFile("s.csv", b"\xff\xfe")}, "not UTF-8"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_at_its_field(client, lead, changes, says):
    assert says in text(client.post(reverse("plan_associations"), {**FORM, **changes}), 422)


@pytest.mark.pages
def test_the_api_plans_each_kind(client, lead, pictures):
    def plan(expected, query="", **body):
        answer = client.post(f"/api/v1/association-runs{query}", json.dumps(body), "application/json")
        assert answer.status_code == expected, answer.content
        return answer.json()

    words = {
        "modality": "t2t",
        "settings": ["t2t-verb"],
        "source": "own",
        "descriptors": "dimension,singular\nage,adult\n",
    }
    seen = plan(200, "?dry_run=true", **words, backend="tried")
    assert (seen["total"], seen["run"]) == (260, None)
    assert not IdentityGroup.objects.filter(name="adult").exists()
    made = plan(201, **words, backend="tried")
    assert Job.objects.filter(run=made["run"], group__name="adult").count() == 260
    every = plan(200, "?dry_run=true", modality="i2t", image_set="pictures", backend="tried")
    assert (every["total"], every["name"]) == (8, "associations-i2t-tried")
    described = {"modality": "t2i", "image_set": "pictures", "setting": "t2i-plural", "backend": "tried"}
    assert plan(200, "?dry_run=true", **described)["total"] == 2
    images = {**words, "modality": "images", "setting": "t2i-plural", "backend": "tried", "model": "m"}
    del images["settings"]
    assert plan(200, "?dry_run=true", **images)["pictures"] == {"descriptors": 10}
    plan(422, modality="t2t", source="own", backend="tried")
    plan(422, modality="i2t", image_set="none", backend="tried")
    for modality in ("t3t", ["t2t"]):
        assert "Choose one of: t2t, images, t2i, i2t." in str(plan(400, modality=modality))
    wrong = client.post("/api/v1/association-runs", "[1]", "application/json")
    assert wrong.status_code == 400


def test_the_command_plans_and_says_what_it_would_ask(tmp_path, pictures):
    def printed(*arguments, **options):
        out = io.StringIO()
        call_command("plan_associations", *arguments, backend="tried", preview=True, stdout=out, **options)
        return out.getvalue()

    listed = tmp_path / "list.csv"
    listed.write_text("dimension,singular\nage,adult\n")
    out = printed("t2t", "--setting", "singular", descriptors=str(listed))
    assert "260 of 260 askings" in out
    out = printed("t2i", "--setting", "plural", "--set", "pictures", "--instruction", "comprehensive")
    assert "2 of 2 askings" in out
    assert "20 of 20 images" in printed(
        "images", "--setting", "plural", "--times", "20", model="m", descriptors=str(listed)
    )
    for arguments, says in (
        (["t2t", "--setting", "odd"], "of t2t there are singular, plural"),
        (["t2i"], "--set: name the image set"),
        (["t2i", "--setting", "plural", "--setting", "singular"], "singular or plural"),
        (["t2t", "--prompts", str(tmp_path)], "no file NAME.toml"),
        (["t2t", "--descriptors", "none.csv"], "none.csv"),
    ):
        with pytest.raises(CommandError, match=says):
            printed(*arguments)
    assert not Run.objects.exists()
