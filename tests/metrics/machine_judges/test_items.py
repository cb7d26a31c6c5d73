"""People and a machine judge item by item: the ranking, the page and the API."""

from __future__ import annotations

import random

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import (
    Annotator,
    Association,
    Box,
    IdentityGroup,
    Judgement,
    Option,
    Response,
    TaskKind,
    Unit,
)
from generation.models import Answer
from metrics.machine_judges.disagreement import UNSURE, rank
from metrics.machine_judges.queries.item_rows import SAMPLES_SHOWN, TEXT_SHOWN, ItemRow
from metrics.machine_judges.queries.items import answered_judge_or_404, choices
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.metrics import cast
from tests.metrics.machine_judges.judged import answer, judge, name_files, planned

pytestmark = pytest.mark.django_db
HOSTILE = '</p><script>alert("x")</script>'


def hats(option, *_):
    return int(option.attribute is not None and option.attribute.text == "hat")


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    return cast.depiction_study(name="pictures", leads=[lead])


def page_of(client, run, user, **query) -> str:
    client.force_login(user)
    found = client.get(reverse("judge_items", args=[run.recipe["design"]["study"], run.pk]), query)
    assert found.status_code == 200
    return found.text


def rows_of(study, run, user, query="") -> list[dict]:
    return Program(user).get(f"studies/{study.name}/judges/{run.pk}/items{query}").json()["results"]


def named(rows) -> list[tuple]:
    return [
        (row["group"] and row["group"]["name"], row["unit"], row["attribute"]["text"], row["differing"])
        for row in rows
    ]


def ranked(places, values, people, **options):
    at, said = zip(*people, strict=True) if people else ((), ())
    arrays = (np.array(each, dtype=np.int64) for each in (places, values, at, said))
    return rank(*arrays, **options)


class TestRanking:
    def test_most_disagreement_then_most_people_then_place(self):
        said = [
            (3, 0),
            (3, 0),
            (7, 1),
            (7, 0),
            (8, 0),
            (9, 1),
            (9, 0),
            (9, 1),
            (9, 0),
            (2, 1),
            (2, 0),
            (99, 1),
        ]
        found = ranked([9, 7, 8, 3, 2, 4], [1, 1, 1, 1, 1, 1], said)
        assert found.places.tolist() == [3, 8, 9, 2, 7, 4]
        assert found.people.tolist() == [2, 1, 4, 2, 2, 0]
        assert found.differing.tolist() == [2, 1, 2, 1, 1, 0]
        assert found.disagreement.tolist()[:5] == [1, 1, 0.5, 0.5, 0.5]
        assert np.isnan(found.disagreement[5])

    def test_on_a_scale_by_distance_and_unsure_is_half_of_it_away(self):
        levels = (1, 2, 4, 5)
        said = [(0, 4), (1, 1), (2, 3), (3, 3), (3, 5)]
        found = ranked([0, 1, 2, 3], [5, 5, 5, 3], said, levels=levels)
        assert dict(zip(found.places.tolist(), found.disagreement.tolist(), strict=True)) == {
            0: pytest.approx(1 / 3),
            1: 1,
            2: UNSURE,
            3: UNSURE / 2,
        }
        assert found.places.tolist() == [1, 2, 0, 3]
        assert found.values.tolist() == [5, 5, 5, 3]

    def test_nothing_and_an_item_twice(self):
        assert ranked([], [], [(0, 1)]).places.tolist() == []
        assert ranked([4], [1], []).people.tolist() == [0]
        with pytest.raises(ValueError, match="twice"):
            ranked([1, 1], [1, 0], [])

    @pytest.mark.parametrize("is_scale", [True, False])
    @pytest.mark.parametrize("seed", range(20))
    def test_it_is_what_counting_one_by_one_gives(self, seed, is_scale):
        drawn = random.Random(seed)
        some = [-1, 0, 1, 2, 3, 4]
        verdicts = {place: drawn.choice(some) for place in drawn.sample(range(12), 8)}
        said = [(drawn.randrange(14), drawn.choice(some)) for _ in range(30)]
        levels = (-1, 1, 2, 3, 4) if is_scale else ()
        found = ranked([*verdicts], [*verdicts.values()], said, levels=levels)

        def apart(a, b):
            if a == b or not is_scale:
                return float(a != b)
            return abs(levels.index(a) - levels.index(b)) / 4 if a and b else UNSURE

        rows = []
        for place, value in verdicts.items():
            own = [apart(each, value) for at, each in said if at == place]
            rows.append((-sum(own) / len(own) if own else 9, -len(own), place))
        rows.sort(key=lambda row: (round(row[0], 9), *row[1:]))
        assert found.people.tolist() == [-row[1] for row in rows]
        assert found.disagreement == pytest.approx(
            [np.nan if row[0] == 9 else -row[0] for row in rows], nan_ok=True
        )
        assert sorted(found.places.tolist()) == sorted(verdicts)


def test_items_with_the_most_disagreement_come_first_without_none_of_the_above(study, lead):
    run = judge(study, TaskKind.DEPICTION, hats)
    rows = rows_of(study, run, lead)
    assert len(rows) == 16
    # in both images of Nepali nobody saw a hat, 'kind' was seen by two of three in one
    assert named(rows[:3]) == [("Nepali", 3, "hat", 3), ("Nepali", 4, "hat", 3), ("Nepali", 3, "kind", 2)]
    assert [row["disagreement"] for row in rows[:3]] == [1, 1, pytest.approx(2 / 3)]
    assert [(one["label"], one["people"], one["judge"]) for one in rows[0]["labels"]] == [
        ("Depicted", 0, 1),
        ("Not depicted", 3, 0),
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?group={nepali}", 8),
        ("?attribute={hat}", 4),
        ("?group={nepali}&attribute={hat}", 2),
        ("?group={nepali}&differ=true", 3),
        ("?region=South%20Asia", 8),
        ("?region=Nowhere", 0),
        ("?attribute=999999", 0),
    ],
)
def test_filters(study, lead, query, expected):
    nepali, hat = factories.group("Nepali"), factories.attribute("hat")
    type(nepali).objects.update(region="Europe")
    type(nepali).objects.filter(pk=nepali.pk).update(region="South Asia")
    run = judge(study, TaskKind.DEPICTION, hats)
    assert len(rows_of(study, run, lead, query.format(nepali=nepali.pk, hat=hat.pk))) == expected


def test_an_item_without_an_image_is_about_the_group_of_its_association():
    group = IdentityGroup(name="Thai")
    for unit, about in ((Unit(association=Association(group=group)), group), (Unit(), None)):
        row = ItemRow(Option(unit=unit), 0, "", 0, 0, None, labels=[], said=[])
        assert row.group is about


def test_pages_of_the_list(study, lead, client):
    run = judge(study, TaskKind.DEPICTION, hats)
    whole = named(rows_of(study, run, lead))
    assert named(rows_of(study, run, lead, "?limit=10&page=2")) == whole[10:]
    items_per_page = page_of(client, run, lead, differ="1", group=factories.group("Nepali").pk)
    assert "3 items" in items_per_page
    assert "No item matches" in page_of(client, run, lead, attribute="x")
    is_problem(Program(lead).get(f"studies/pictures/judges/{run.pk}/items?order=x"), 400)


def test_filters_offer_what_the_items_have(study, lead, client):
    type(factories.group("Nepali")).objects.filter(name="Nepali").update(region="South Asia")
    run = judge(study, TaskKind.DEPICTION, hats)
    assert choices(answered_judge_or_404(study, run.pk)).regions == ("South Asia",)
    hat, other = factories.attribute("hat"), factories.attribute("shown to nobody")
    assert f'<option value="{hat.pk}" selected>hat' in page_of(client, run, lead, attribute=hat.pk)
    assert "shown to nobody" not in page_of(client, run, lead, attribute=other.pk)


def test_boxes_of_people_and_of_the_judge_are_told_apart(study, lead, client):
    seen = Judgement.objects.filter(value=1, option__attribute__text="hat").first()
    Box.objects.create(judgement=seen, x0=11, y0=12, x1=111, y1=122, image_width=512, image_height=512)
    other = Judgement.objects.filter(value=1, option__attribute__text="sombrero").first()
    Box.objects.create(judgement=other, x0=77, y0=78, x1=79, y1=99, image_width=512, image_height=512)
    image = seen.response.unit.image

    def drawn(option):
        return [(130, 145, 30, 40)] if option.unit.image == image else []

    run = judge(study, TaskKind.DEPICTION, hats, boxes=drawn)
    rows = [row for row in rows_of(study, run, lead) if row["image"] == image.pk]
    of = {row["attribute"]["text"]: row for row in rows}
    corner = {"x0": 11, "y0": 12, "width": 100, "height": 110}
    assert of["hat"]["people_boxes"] == [{"by": "A", **corner}]
    assert of["hat"]["judge_boxes"] == [{"x0": 30, "y0": 40, "width": 100, "height": 105}]
    assert not of["hat"]["judge_whole_image"]
    assert [box["x0"] for box in of["sombrero"]["people_boxes"]] == [77]
    assert of["sombrero"]["judge_boxes"] == []
    page = page_of(client, run, lead, group=image.group_id, attribute=factories.attribute("hat").pk)
    assert page.count('<g class="box by by-judge">') == 1
    assert page.count('class="show-judge"') == 1
    assert 'x="30" y="40" width="100" height="105"' in page
    assert 'x="11" y="12" width="100" height="110"' in page
    assert 'x="77"' not in page, "boxes of another attribute"
    assert page.count("visible in the image as a whole") == 1, "the judge drew no box in the other image"


def test_what_the_judge_saw_as_a_whole_in_another_order_only_is_not_said_of_the_item(study, lead):
    def in_another_order(option, variant, _):
        return hats(option) if variant == "order" else int(option.attribute is None)

    run = judge(study, TaskKind.DEPICTION, in_another_order, boxes=lambda _: [], again=4)
    rows = rows_of(study, run, lead)
    assert {one["value"] for row in rows for one in row["judge"] if one["variant"] == "order"} == {0, 1}
    assert not any(row["judge_whole_image"] for row in rows)


def test_nobody_is_named_and_what_the_judge_wrote_is_text(study, lead, client):
    for number, who in enumerate(Annotator.objects.order_by("pk")):
        Annotator.objects.filter(pk=who.pk).update(pseudonym=f"heron-{number}")
    run = judge(study, TaskKind.DEPICTION, hats, again=4)
    bad = run.answers.filter(job__key__endswith=".order").latest("job")
    Answer.objects.filter(pk=bad.pk).update(text=HOSTILE + "x" * TEXT_SHOWN)
    page = page_of(client, run, lead)
    assert "heron-" not in page
    assert HOSTILE not in page
    assert "&lt;/p&gt;&lt;script&gt;" in page
    assert 'lang="" dir="auto"' in page
    assert "x" * 500 in page
    assert "x" * TEXT_SHOWN not in page, "the rest is in the run"
    assert page.count("x …</p>") == page.count("…</p>") > 0, "only what was cut"
    assert "not in the form that was asked for" in page
    answers = [one for row in rows_of(study, run, lead) for one in row["judge_answers"]]
    found = {(one["text"][:20], one["length"]) for one in answers if one["problem"] == "unreadable"}
    assert found == {(HOSTILE[:20], len(HOSTILE) + TEXT_SHOWN)}
    assert "heron-" not in str(rows_of(study, run, lead))


def test_images_are_blurred_if_the_study_says_so(study, lead, client):
    name_files(study)
    run = judge(study, TaskKind.DEPICTION, hats)
    assert "is-blurred" not in page_of(client, run, lead)
    type(study).objects.filter(pk=study.pk).update(blur_images=True)
    page = page_of(client, run, lead)
    assert page.count("picture is-blurred") == page.count('class="reveal"') == 16


def test_ratings_with_samples_and_variants(lead, client):
    study = cast.visual_study({"hat": [5, 4, 3], "kind": [1, 1, 1]}, leads=[lead])

    def value(option, variant, sample):
        if option.attribute.text == "kind":
            return 1
        return 2 if variant == "order" else (4 if sample < 5 else 1)

    run = judge(study, TaskKind.VISUAL_NATURE, value, times=5, temperature=1.0, again=2)
    first, second = rows_of(study, run, lead)
    assert (first["attribute"]["text"], first["differing"], first["people"]) == ("hat", 2, 3)
    assert first["disagreement"] == pytest.approx((1 / 3 + 0 + UNSURE) / 3)
    assert "hat" in first["statement"]
    assert [(one["value"], one["people"], one["judge"]) for one in first["labels"]] == [
        *((5, 1, 0), (4, 1, 4), (2, 0, 0), (1, 0, 1), (3, 1, 0)),
    ]
    assert [tuple(one.values()) for one in first["judge"]] == [
        ("base", 4, "Agree", 4, 5),
        ("order", 2, "Disagree", 5, 5),
    ]
    shown = [(one["variant"], one["sample"]) for one in first["judge_answers"]]
    assert shown == [(variant, n) for variant in ("base", "order") for n in range(1, SAMPLES_SHOWN + 1)]
    assert (second["differing"], second["disagreement"]) == (0, 0)
    page = page_of(client, run, lead, differ="1")
    assert "2 of 3 people answered differently" in page
    assert "the choices in another order" in page
    assert ">kind<" not in page


def test_the_ranking_follows_new_answers_of_people(study, lead):
    run = judge(study, TaskKind.DEPICTION, hats)
    assert rows_of(study, run, lead)[0]["people"] == 3
    Response.objects.filter(unit__position=3).update(current=False)
    rows = rows_of(study, run, lead)
    assert named(rows)[0] == ("Nepali", 4, "hat", 3)
    assert [(row["people"], row["disagreement"]) for row in rows[-4:]] == [(0, None)] * 4


def test_the_ranking_follows_new_answers_of_the_judge(study, lead):
    run = judge(study, TaskKind.DEPICTION, hats)
    assert len(rows_of(study, run, lead)) == 16
    run.answers.get(job__key__startswith="3.").delete()
    assert len(rows_of(study, run, lead)) == 12


def test_a_judge_without_usable_answers_and_one_whose_task_is_gone(study, lead, client):
    run = planned(study, TaskKind.DEPICTION)
    assert "has not given a usable answer" in page_of(client, run, lead)
    answer(run, lambda job: "I cannot say.")
    assert "has not given a usable answer" in page_of(client, run, lead)
    other = cast.visual_study({"hat": [5, 5, 5]}, leads=[lead])
    of_other = judge(other, TaskKind.VISUAL_NATURE, lambda *_: 5)
    for name in ("judge_items", "judge_answers"):
        assert client.get(reverse(name, args=[study.name, of_other.pk])).status_code == 404
    other.tasks.update(version=2)
    for name in ("judge_items", "judge_answers"):
        assert client.get(reverse(name, args=[other.name, of_other.pk])).status_code == 404


def test_queries_do_not_grow_with_rows_people_or_samples(study, lead, client, django_assert_num_queries):
    few = judge(study, TaskKind.DEPICTION, hats, again=1)
    few_rows = {"attribute": factories.attribute("hat").pk, "group": factories.group("Nepali").pk}
    page_of(client, few, lead, **few_rows)
    cache.clear()
    with CaptureQueriesContext(connection) as asked:
        page_of(client, few, lead, **few_rows)
    number = len(asked)
    task = study.tasks.get()
    for each in range(3):
        unit = factories.page_unit(task, picture=factories.image(group_name=f"Group {each}", index=9))
        for _ in range(3):
            factories.response(unit, values=[1, 0, 0, 0, 0], who=factories.annotator())
    many = judge(study, TaskKind.DEPICTION, hats, times=3, temperature=1.0, again=7, name="many")
    page_of(client, many, lead, **few_rows)
    cache.clear()
    hat = few_rows["attribute"]
    with django_assert_num_queries(number):
        assert page_of(client, many, lead, attribute=hat).count('<li class="card stack">') == 7
    with django_assert_num_queries(number - 2):
        page_of(client, many, lead, attribute=hat)  # answers are not read again
