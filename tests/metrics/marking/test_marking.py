"""Share of texts that name the group: counts by hand, pages, command and API."""

from __future__ import annotations

import io
import json
import re

import pytest
from django.contrib import auth
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import override

from annotation.models import IdentityGroup
from generation.models import Caption, Run, RunState
from generation.recipes.recipes import CaptionRecipe, as_json, digest
from metrics.core.purposes import ASSOCIATIONS, MACHINE_JUDGE
from metrics.marking.data import Choice, runs_of_set, sets_with_texts, top_p_of
from metrics.marking.figures import marking_figure
from metrics.marking.queries import lines, results, sentences
from metrics.marking.words import WordList
from tests import factories
from tests.annotation.api.calls import Program
from tests.generation.answers.answered import a_run, answer
from tests.generation.image_sets import world
from tests.metrics.brightness import measured
from tests.metrics.visual_questions import asked

pytestmark = [pytest.mark.django_db, pytest.mark.pages]
WORDS = {"Asian": ("asian",), "White": ("white",)}
CHOICE = Choice(WordList(WORDS))
SHOWN = "Here are the tests on image sets that your studies show."


@pytest.fixture
def image_set():
    found = factories.image_set("faces")
    for group in ("Asian", "White"):
        for index in (1, 2, 3):
            factories.image(image_set=found, group_name=group, index=index)
    return found


def captions(image_set, texts, *, rank: int = 1, run: Run | None = None, **recipe) -> Run:
    """A finished run with a caption for each image, Asian before White."""
    chosen = CaptionRecipe(**{"backend": "blip", "model": "blip", "count": 1, **recipe})
    run = run or Run.objects.create(
        kind="captions",
        backend=chosen.backend,
        image_set=image_set,
        state=RunState.DONE,
        recipe=as_json(chosen),
        recipe_hash=digest(chosen, image_set=image_set.name),
        started_at=timezone.now(),
        finished_at=timezone.now(),
    )
    images = image_set.images.order_by("group__name", "index")
    for image, text in zip(images, texts, strict=True):
        Caption.objects.create(run=run, image=image, rank=rank, text=text)
    return run


MARKED = ["an asian woman", "asian man", "a woman", "a man", "a white shirt", "a white man"]


def counted(rows) -> list[tuple[str, int, int]]:
    return [(row.group.name, row.share.k, row.share.n) for row in rows]


def test_each_caption_is_looked_at_for_its_own_group(image_set):
    captions(image_set, MARKED)
    captions(image_set, ["a white man"] * 3 + ["an asian man"] * 3, seed=1)
    assert counted(results(image_set, CHOICE, resamples=0)) == [
        ("Asian", 2, 3),
        ("White", 1, 3),
        ("Asian", 0, 3),
        ("White", 0, 3),
    ]
    for changed, marked in (
        (WordList(WORDS, alone=True), [2, 2]),
        (WordList({**WORDS, "White": ("pale",)}), [2, 0]),
        (WordList(WORDS, nouns=("woman",)), [1, 0]),
    ):
        again = counted(results(image_set, Choice(changed), resamples=0))
        assert [k for _, k, _ in again[:2]] == marked


def test_a_run_that_has_gone_on_is_counted_again(image_set):
    run = captions(image_set, MARKED)
    assert counted(results(image_set, CHOICE, resamples=0)) == [("Asian", 2, 3), ("White", 1, 3)]
    run.captions.update(text="a white man")
    run.finished_at = timezone.now()
    run.save()
    assert counted(results(image_set, CHOICE, resamples=0)) == [("Asian", 0, 3), ("White", 3, 3)]


def test_points_are_in_the_order_of_groups_and_of_top_p(image_set):
    for value in (0.9, 0.5):
        captions(image_set, MARKED[::-1], options={"top_p": value}, backend="fake", model="fake")
    rows = results(image_set, CHOICE, resamples=0)
    order = [("Asian", 0.5), ("Asian", 0.9), ("White", 0.5), ("White", 0.9)]
    figure = marking_figure(image_set, rows)
    assert [row[1:3] for row in figure.rows] == order
    assert figure.spec["title"]["subtitle"] == ["faces – some or all texts are simulated"]
    # runs beside each other, of which only the first was simulated
    captions(image_set, MARKED)
    beside = marking_figure(image_set, [*rows[2:], *results(image_set, CHOICE, resamples=0)[4:]])
    assert [row[0] for row in beside.rows] == ["Asian", "Asian", "White", "White"]
    assert "simulated" in str(beside.spec["title"])


def test_the_first_rank_counts_unless_all_are_asked_for(image_set):
    run = captions(image_set, MARKED)
    captions(image_set, ["an asian man"] * 6, rank=2, run=run)
    assert counted(results(image_set, CHOICE, resamples=0)) == [("Asian", 2, 3), ("White", 1, 3)]
    everything = Choice(WordList(WORDS), all_ranks=True)
    assert counted(results(image_set, everything, resamples=0)) == [("Asian", 5, 6), ("White", 1, 6)]


def test_intervals_resample_images(image_set):
    captions(image_set, MARKED)
    asian, _ = results(image_set, CHOICE, resamples=500)
    assert (asian.share.low, asian.share.high) == (0, 1)
    assert results(image_set, CHOICE, resamples=500)[0] == asian


def test_descriptions_count_and_answers_to_questions_do_not(image_set):
    described = a_run("descriptions", image_set=image_set, temperature=0.7, top_p=0.6)
    image = image_set.images.filter(group__name="Asian").first()
    answer(described, "An Asian person.", image=image)
    answer(described, "A person.", image=image, number=2)
    question = asked.a_run(image_set=image_set)
    asked.add(question, image, "an asian person")
    measured.empty_run("brightness", image_set=image_set.name)
    a_run("descriptions", image_set=image_set, design={"purpose": MACHINE_JUDGE})
    Run.objects.filter(pk=captions(image_set, MARKED).pk).update(kind="embeddings")
    assert runs_of_set(image_set) == [described]
    [listed] = sets_with_texts()
    assert listed.texts == 1
    [row] = results(image_set, CHOICE, resamples=0)
    assert (row.share.k, row.share.n, row.images, row.top_p, row.label) == (1, 2, 1, 0.6, described.name)


def test_interpretations_of_images_are_no_descriptions(image_set):
    """Of associations: I2T interprets images, T2I describes them and says how."""
    run = captions(image_set, MARKED)
    design = {"purpose": ASSOCIATIONS, "settings": ["i2t-implicit"]}
    a_run("descriptions", image_set=image_set, design=design)
    assert runs_of_set(image_set) == [run]
    design = {"purpose": ASSOCIATIONS, "settings": ["t2i-singular"], "instruction": "moderate"}
    described = a_run("descriptions", image_set=image_set, design=design)
    assert runs_of_set(image_set) == [run, described]
    [listed] = sets_with_texts()
    assert listed.texts == 2


def test_sentences_name_the_ends_of_each_run_that_names_a_group(image_set):
    run = captions(image_set, MARKED)
    captions(image_set, ["a person"] * 6, seed=1)
    rows = results(image_set, CHOICE, resamples=0)
    called = f"run {run.pk}, blip"
    assert sentences(rows) == [
        f"{called}: 66.7 % of the texts about images of “Asian” name the group, and 33.3 % of those about "
        "images of “White”."
    ]
    assert sentences(rows[:1]) == [f"{called}: 66.7 % of the texts about images of “Asian” name the group."]
    assert "66.7 % [0.0, 100.0] of" in sentences(results(image_set, CHOICE, resamples=500))[0]
    assert sentences(rows[2:]) == []


def test_groups_of_one_name_have_rows_of_their_own(image_set):
    captions(image_set, MARKED)
    IdentityGroup.objects.filter(name="White").update(name="Asian", axis="other")
    rows = results(image_set, CHOICE, resamples=0)
    axis = IdentityGroup.objects.exclude(axis="other").get().axis
    assert {row[0] for row in marking_figure(image_set, rows).rows} == {f"Asian ({axis})", "Asian (other)"}
    assert f"“Asian ({axis})”" in sentences(rows)[0]


@pytest.mark.parametrize(
    ("options", "top_p"),
    [
        ({}, None),
        ({"top_p": 0.7}, 0.7),
        ({"top_p": 1}, 1.0),
        ({"top_p": 0.7, "method": "top_k"}, None),
        ({"top_p": 0.7, "method": "top_p"}, 0.7),
        ({"top_p": "often"}, None),
    ],
)
def test_top_p_is_what_the_recipe_says(image_set, options, top_p):
    assert top_p_of(captions(image_set, MARKED, options=options)) == top_p
    sure = a_run("descriptions", image_set=image_set, temperature=0.0, top_p=0.6)
    assert top_p_of(sure) is None
    assert top_p_of(Run(kind="descriptions", recipe={"temperature": 0.7})) is None


def test_runs_that_differ_in_top_p_only_are_a_line(image_set):
    for value in (0.9, 0.5):
        captions(image_set, MARKED, options={"top_p": value, "prompt": "a photo"})
    captions(image_set, MARKED, options={"top_p": 0.7})
    captions(image_set, MARKED)
    found = lines(results(image_set, CHOICE, resamples=0))
    assert {name: sorted({row.top_p for row in rows}) for name, rows in found.items()} == {"blip": [0.5, 0.9]}
    for value in (0.5, 0.9):
        captions(image_set, MARKED, options={"top_p": value}, seed=3)
    found = lines(results(image_set, CHOICE, resamples=0))
    assert len(found) == 2
    assert all(name.startswith("blip (from run ") for name in found)


def test_a_query_for_each_run_and_none_once_it_was_counted(image_set, django_assert_num_queries):
    for seed in (1, 2):
        captions(image_set, MARKED, seed=seed)
    with django_assert_num_queries(4):
        results(image_set, CHOICE, resamples=0)
    with django_assert_num_queries(2):
        results(image_set, CHOICE, resamples=0)
    with django_assert_num_queries(4):
        results(image_set, Choice(WordList(WORDS, alone=True)), resamples=0)


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("marking", *arguments, stdout=out)
    return out.getvalue()


def test_the_command(image_set, tmp_path):
    assert "has a caption or a description yet" in command("faces")
    run = captions(image_set, MARKED, options={"top_p": 0.7})
    lines_of_csv = command("faces", "--format", "csv", "--resamples", "0").splitlines()
    assert lines_of_csv[0] == "run,model,top_p,group,n,marked,share,low,high"
    assert lines_of_csv[1] == f"{run.pk},blip,0.7,Asian,3,2,{2 / 3!r},,"
    words = tmp_path / "words.txt"
    words.write_text("\ufeffAsian: a\n", encoding="utf-8")  # as some editors write it
    changed = command("faces", "--format", "csv", "--words", str(words), "--nouns", "woman").splitlines()
    assert changed[1].split(",")[3:6] == ["Asian", "3", "1"]
    found = json.loads(command("faces", "--format", "json", "--words", str(words)))
    assert (found["words"]["Asian"], found["simulated"]) == (["a"], False)
    assert "white" in map(str.lower, found["words"]["White"]), "as without the file"
    for method, options in (
        ("clustered over images", ()),
        ("bootstrap over images, 200", ("--resamples", "200")),
    ):
        assert f"95 % intervals: {method}" in command("faces", *options)
    with pytest.raises(CommandError, match="an option of --intervals bootstrap"):
        command("faces", "--intervals", "clustered", "--resamples", "200")
    # the paper's own nouns
    only = command("faces", "--format", "csv", "--nouns", "person,man,woman").splitlines()
    assert only[1].split(",")[3:6] == ["Asian", "3", "2"]
    words.write_text("Martian: green\n")
    for arguments, said in (
        (("nothing",), "There is no image set 'nothing'"),
        (("faces", "--words", str(words)), "words.txt: line 1: the set has no group 'Martian'"),
        (("faces", "--words", str(tmp_path / "none")), "No such file"),
        (("faces", "--nouns", ","), "--nouns: there is no word"),
        (("faces", "--resamples", "-1"), "resamples"),
    ):
        with pytest.raises(CommandError, match=said):
            command(*arguments)
    captions(image_set, MARKED, backend="fake")
    assert command("faces").startswith("SIMULATED"), "some of them"


def test_a_series_of_the_fake_shows_as_lines(client):
    """The fake names nobody and knows no top-p: everything works all the same."""
    image_set = world.made(world.pictures("Asian", "White")).image_set
    for value in ("0.5", "0.7", "0.9"):
        arguments = (image_set.name, "--backend", "fake", "--count", "1", "--option", f"top_p={value}")
        call_command("caption", *arguments, "--yes", stdout=io.StringIO())
    rows = [line.split(",") for line in command(image_set.name, "--format", "csv").splitlines()[1:]]
    assert [row[2] for row in rows] == ["0.5", "0.5", "0.7", "0.7", "0.9", "0.9"]
    assert {row[5] for row in rows} == {"0"}
    assert command(image_set.name).startswith("SIMULATED")
    client.force_login(factories.user(lead=True))
    page = reverse("marking_of_set", args=[image_set.name])
    text = client.get(page).content.decode()
    assert "simulated texts" in text
    with override("es"):
        assert ">ejecución " in client.get(page, headers={"accept-language": "es"}).content.decode()
    [picture] = re.findall(r'<img src="(/marking/[^"]+)"', text)
    assert b"top-p" in client.get(picture).content


class TestPages:
    @pytest.fixture(autouse=True)
    def reader(self, client):
        client.force_login(factories.lead_of("faces"))

    def test_sets_are_listed_with_their_runs(self, client, image_set, django_assert_max_num_queries):
        captions(image_set, MARKED)
        asked.a_run(image_set=image_set)
        text = client.get(reverse("marking")).content.decode()
        assert reverse("marking_of_set", args=["faces"]) in text
        assert SHOWN not in text
        assert '<td class="number">1</td>' in text
        for number in range(3):
            factories.image_set(f"more{number}")
        with django_assert_max_num_queries(10):
            client.get(reverse("marking"))
        assert [one.name for one in sets_with_texts()] == ["faces", "more0", "more1", "more2"]

    def test_the_page_shows_and_changes_what_is_looked_for(self, client, image_set):
        address = reverse("marking_of_set", args=["faces"])
        reader, more = auth.get_user(client), reverse("new_run", args=["captions"])
        assert more not in client.get(address).content.decode()
        client.force_login(factories.user(lead=True))
        assert more in client.get(address).content.decode()
        client.force_login(reader)
        assert "caption or a description yet" in client.get(address).content.decode()
        run = captions(image_set, MARKED)
        text = client.get(address).content.decode()
        assert reverse("run", args=[run.pk]) not in text
        assert "Asian: asian\nWhite: white" in text
        assert "of the texts about images of “Asian” name the group, and 33.3 % [" in text
        assert "says nothing about the person" in text
        query = {"words": "White: white\r\nAsian: nobody", "alone": "on"}
        changed = client.get(address, query).content.decode()
        assert "Asian: nobody" in changed
        [picture] = re.findall(r'<img src="(/marking/[^"]+)"', changed)
        csv = client.get(picture.replace("&amp;", "&").replace(".svg", ".csv")).content.decode()
        assert re.search(r"^Asian,.*,0,3\r$", csv, re.MULTILINE)
        assert re.search(r"^White,.*,2,3\r$", csv, re.MULTILINE)

    def test_wrong_words_are_said_and_nothing_is_counted(self, client, image_set):
        captions(image_set, MARKED)
        answer = client.get(reverse("marking_of_set", args=["faces"]), {"words": "Martian: green"})
        assert answer.status_code == 422
        assert "the set has no group" in answer.content.decode()
        figure = client.get(reverse("marking_figure", args=["faces", "svg"]), {"words": "Martian: green"})
        assert figure.status_code == 302

    @pytest.mark.parametrize("room", ["embedding_tests", "visual_questions", "marking", "brightness"])
    def test_an_empty_list_says_what_it_would_hold(self, client, room):
        client.force_login(factories.lead_of())
        assert SHOWN in client.get(reverse(room)).content.decode()
        client.force_login(factories.user(lead=True))
        assert SHOWN not in client.get(reverse(room)).content.decode()

    def test_others_see_nothing(self, client, image_set):
        assert client.get(reverse("marking_of_set", args=["nothing"])).status_code == 404
        assert client.get(reverse("marking_figure", args=["faces", "svg"])).status_code == 404
        captions(image_set, MARKED)
        assert client.get(reverse("marking_figure", args=["faces", "exe"])).status_code == 404
        client.force_login(factories.user())
        for name, *arguments in (
            ("marking",),
            ("marking_of_set", "faces"),
            ("marking_figure", "faces", "svg"),
        ):
            assert client.get(reverse(name, args=arguments)).status_code == 404

    def test_as_many_queries_for_more_images(self, client, image_set, django_assert_max_num_queries):
        captions(image_set, MARKED)
        with django_assert_max_num_queries(12):
            client.get(reverse("marking_of_set", args=["faces"]))


def test_the_api(image_set):
    program = Program(factories.user(lead=True))
    assert program.get("marking/faces/figure/csv").status_code == 409
    captions(image_set, MARKED, options={"top_p": 0.7})
    found = program.get("marking/faces").json()
    assert found["words"] == {"Asian": ["asian"], "White": ["white"]}
    assert [(row["group"], row["marked"], row["n"], row["top_p"]) for row in found["results"]] == [
        ("Asian", 2, 3, 0.7),
        ("White", 1, 3, 0.7),
    ]
    assert [row["simulated"] for row in found["results"]] == [False, False]
    chosen = program.get("marking/faces?alone=true&all_ranks=true&nouns=woman&words=Asian: a").json()
    assert [row["marked"] for row in chosen["results"]] == [1, 2]
    assert (chosen["nouns"], chosen["alone"], chosen["all_ranks"]) == (["woman"], True, True)
    assert (found["alone"], found["all_ranks"]) == (False, False)
    assert program.get("marking/faces?words=Martian: green").status_code == 422
    assert program.get("marking/faces?bogus=1").status_code == 400
    assert program.get("marking/nothing").status_code == 404
    assert program.get("marking/faces/figure/csv").status_code == 200
    assert program.get("marking/faces/figure/exe").status_code == 404
