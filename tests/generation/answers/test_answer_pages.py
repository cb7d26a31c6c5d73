"""The pages of answers, downloads, and a run's limits, in the browser and by the API."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import AuditEvent
from generation.answers import queries, views
from generation.answers.forms import FilterForm
from generation.answers.queries import Filters
from generation.answers.services import downloads
from generation.models import Run, RunKind, RunState
from generation.recipes.limits import Limits
from generation.runs import limits
from generation.runs.errors import RunRefused
from generation.runs.limits_form import LimitsForm
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.generation.answers.answered import a_run, answer

pytestmark = pytest.mark.django_db


@pytest.fixture
def maker():
    return factories.user("maker", lead=True)


@pytest.fixture
def page(client, maker):
    client.force_login(maker)
    return client


def asked(page, url) -> int:
    with CaptureQueriesContext(connection) as queries_asked:
        assert page.get(url).status_code == 200
    return len(queries_asked)


def test_pages_ask_as_often_for_many_answers_as_for_few(page):
    run = a_run()
    answer(run)
    urls = {
        "run": reverse("run", args=[run.pk]),
        "answers": reverse("run_answers", args=[run.pk]),
        "search": reverse("run_answers", args=[run.pk]) + "?text=answer",
        "answer": reverse("run_answer", args=[run.pk, run.jobs.get().pk]),
    }
    before = {name: asked(page, url) for name, url in urls.items()}
    for number in range(60):
        answer(run, f"answer {number}", ended=f"{number % 4}", image=factories.image(index=number + 1))
    assert {name: asked(page, url) for name, url in urls.items()} == before
    assert before == {"run": 11, "answers": 7, "search": 8, "answer": 9}


def test_a_page_never_sends_a_million_characters(page):
    run = a_run()
    answer(run)  # no run has the number of the next
    long = answer(run, "x" * 1_000_000, prompt="y" * 1_000_000)
    for url in (
        reverse("run", args=[run.pk]),
        reverse("run_answers", args=[run.pk]),
        reverse("run_answer", args=[run.pk, long.pk]),
    ):
        sent = page.get(url)
        assert len(sent.content) < 80_000
        assert "1,000,000 characters" in sent.text
    assert "x" * 20_000 in sent.text
    assert "x" * 20_001 not in sent.text
    whole = page.get(reverse("run_answer_text", args=[run.pk, long.pk]))
    assert whole.content == b"x" * 1_000_000
    assert whole["Content-Type"].startswith("text/plain")
    assert whole["Content-Disposition"] == f'attachment; filename="answer-{long.pk}.txt"'
    assert page.get(reverse("run_answer_text", args=[a_run().pk, long.pk])).status_code == 404


def test_what_a_model_wrote_is_text_and_no_page(page):
    run = a_run(system="<b>sys</b>")
    evil = answer(run, "<script>alert(1)</script>", prompt="<img src=x>", extra={"<i>": "<u>"})
    for url in (reverse("run_answers", args=[run.pk]), reverse("run_answer", args=[run.pk, evil.pk])):
        text = page.get(url).text
        assert "&lt;script&gt;" in text
        for markup in ("<script>alert", "<img src=x>", "<b>sys", "<u>"):
            assert markup not in text
    assert text.count("&lt;b&gt;sys") == 2, "as what was sent, and in the recipe"


def test_a_list_shows_why_a_filter_withheld_an_answer_and_sends_no_long_reason(page):
    run = a_run()
    answer(run, "", ended="filter", extra={"reason": "<u>Not</u> about groups."})
    answer(run, "", ended="filter", extra={"reason": "x" * 100_000})
    answer(run, "", ended="odd", extra={"reason": {"code": 7}})
    answer(run, "fine", extra={"other": "field"})
    sent = page.get(reverse("run_answers", args=[run.pk]))
    assert "&lt;u&gt;Not&lt;/u&gt; about groups." in sent.text
    assert sent.text.count("<bdi>") == 3
    assert ">filter</a> 2 ·" in page.get(reverse("run", args=[run.pk])).text
    assert len(sent.content) < 80_000


def test_one_answer_shows_everything_that_was_sent(page):
    run = a_run("classifications")
    one = answer(
        run,
        "entailment",
        prompt="She is rich.",
        text_pair="She is French.",
        ended="",
        probabilities={"neutral": 0.25, "entailment": 0.75},
    )
    for url in (reverse("run_answer", args=[run.pk, one.pk]), reverse("run_answers", args=[run.pk])):
        text = page.get(url).text
        for shown in ("She is rich.", "She is French.", "0.75", "0.25", "simulated, no model’s output"):
            assert shown in text
        assert text.index("entailment") < text.index("neutral")
    other = a_run()
    assert page.get(reverse("run_answer", args=[other.pk, one.pk])).status_code == 404


@pytest.mark.parametrize("query", ["after=x", "before=-1", "after=99999999999999999999", "ended=nonsense"])
def test_a_query_that_cannot_be_is_said_and_shows_the_list(page, query):
    run = a_run()
    answer(run, "here it is")
    shown = page.get(reverse("run_answers", args=[run.pk]) + f"?{query}")
    assert (shown.status_code, "here it is" in shown.text) == (422, True)
    assert page.get(reverse("run_answers_file", args=[run.pk, "csv"]) + f"?{query}").status_code == 422
    assert not AuditEvent.objects.exists()


def test_a_list_is_read_page_by_page_and_keeps_its_filters(page, monkeypatch):
    monkeypatch.setattr(views, "PER_PAGE", 2)
    run = a_run()
    jobs = [answer(run, f"{n}", key=f"k{n}", ended="" if n == 4 else "stop").pk for n in range(5)]

    def shown(query):
        given = page.get(reverse("run_answers", args=[run.pk]) + query).context
        assert given["total"] == 5
        texts = [row.text.start for row in given["found"].rows]
        return "".join(texts), given["query"], given["filtered"]

    assert shown("") == ("01", "", False)
    assert shown(f"?after={jobs[1]}") == ("23", "", False)
    assert shown(f"?before={jobs[4]}") == ("23", "", False)
    assert shown(f"?ended=nonsense&after={jobs[1]}")[0] == "01"
    assert shown("?ended=-") == ("4", "ended=-&", True)
    assert shown(f"?ended=stop&text=&key=k&after={jobs[2]}") == ("3", "ended=stop&key=k&", True)
    assert shown("?text=3") == ("3", "text=3&", True)


def test_filters_are_those_of_the_form():
    endings = [("", 1200), ("stop", 1)]
    form = FilterForm({}, endings=endings)
    assert [str(name) for _, name in form.fields["ended"].choices] == [
        *("any reason", "not known (1,200)", "stop (1)"),
    ]
    assert [field.name for field in form.shown()] == ["ended", "text", "key"]
    for given, filters in (
        ({}, Filters()),
        ({"ended": "-"}, Filters(ended="")),
        ({"ended": "stop", "text": "a", "key": "b"}, Filters(ended="stop", contains="a", key="b")),
        ({"text": "x" * 201}, Filters()),
        ({"before": "0", "text": "a"}, Filters()),
        ({"after": "0", "text": "a"}, Filters(contains="a")),
    ):
        assert FilterForm(given, endings=endings).filters() == filters


def test_runs_that_ask_no_model_have_no_answers(page, maker):
    run = Run.objects.create(
        kind=RunKind.CAPTIONS,
        image_set=factories.image_set(),
        backend="fake",
        recipe={},
        recipe_hash="0" * 64,
    )
    assert page.get(reverse("run_answers", args=[run.pk])).status_code == 404
    is_problem(Program(maker, "read").get(f"runs/{run.pk}/answers"), 404)
    assert page.get(reverse("run", args=[run.pk])).context["limits_form"] is None
    for tokens in (5, 0):
        shown = page.post(reverse("run_limits", args=[run.pk]), {"tokens": tokens}, follow=True)
        assert f"Run {run.pk} asks no model, so it has no limits." in shown.text


def download(page, run, fmt, query=""):
    sent = page.get(reverse("run_answers_file", args=[run.pk, fmt]) + query)
    assert sent["Content-Disposition"] == f'attachment; filename="{run.name}-answers.{fmt}"'
    assert sent["Content-Type"] == downloads.FORMATS[fmt]
    return b"".join(sent.streaming_content).decode()


def test_a_download_has_every_answer_and_is_recorded(page, maker, monkeypatch):
    monkeypatch.setattr(queries, "_PER_BATCH", 2)
    run = a_run()
    answer(run, "=HYPERLINK(1)", prompt="+1", key="-k", extra={"a": [1]}, tokens_in=3)
    answer(run, "line\nbreak, “comma”", ended="length")
    answer(run, "last", image=factories.image(), group=factories.group("Mexican"))
    rows = list(csv.DictReader(io.StringIO(download(page, run, "csv"), newline="")))
    assert [row["text"] for row in rows] == ["'=HYPERLINK(1)", "line\nbreak, “comma”", "last"]
    assert (rows[0]["prompt"], rows[0]["key"], rows[0]["extra"], rows[0]["tokens_in"]) == (
        *("'+1", "'-k"),
        *('{"a": [1]}', "3"),
    )
    lines = [json.loads(line) for line in download(page, run, "jsonl").split("\n") if line]
    assert [line["text"] for line in lines] == ["=HYPERLINK(1)", "line\nbreak, “comma”", "last"]
    assert [line["image"] for line in lines] == [None, None, "Mexican 1"]
    assert [line["group"] for line in lines] == [None, None, "Mexican"]
    filtered = download(page, run, "jsonl", "?ended=length")
    assert [json.loads(line)["text"] for line in filtered.split("\n") if line] == ["line\nbreak, “comma”"]
    recorded = list(AuditEvent.objects.order_by("pk").values_list("what", "by", "details"))
    assert recorded == [
        ("answers downloaded", maker.pk, {"run": run.pk, "format": "csv"}),
        ("answers downloaded", maker.pk, {"run": run.pk, "format": "jsonl"}),
        ("answers downloaded", maker.pk, {"run": run.pk, "format": "jsonl", "filters": {"ended": "length"}}),
    ]
    assert page.get(reverse("run_answers_file", args=[run.pk, "xlsx"])).status_code == 404


PRICES = {"price_in": 2, "price_out": 10}


@pytest.mark.parametrize("state", [RunState.PLANNED, RunState.RUNNING, RunState.PAUSED])
def test_limits_are_changed_on_the_page_until_the_run_has_ended(page, maker, state):
    run = a_run(state=state, limits={"tokens": 10}, times=3)
    recipe_hash = run.recipe_hash
    wanted = {"tokens": 5000, "cost": "1.5", **PRICES, "in_flight": ""}
    assert page.post(reverse("run_limits", args=[run.pk]), wanted).status_code == 302
    run.refresh_from_db()
    assert run.limits == {"tokens": 5000, "cost": 1.5, "price_in": 2.0, "price_out": 10.0}
    assert (run.state, run.recipe_hash) == (state, recipe_hash)
    again = page.post(reverse("run_limits", args=[run.pk]), wanted, follow=True)
    for said in ("The limits are changed.", "Nothing to change."):
        assert said in again.text
    assert again.context["limits_form"]["tokens"].value() == 5000
    event = AuditEvent.objects.get()
    assert (event.what, event.by) == ("run limits changed", maker)
    changed = {"before": {"tokens": 10}, "limits": run.limits}
    assert event.details == {"run": run.pk, "recipe": recipe_hash, **changed}
    run.tokens_in, run.tokens_out = 1_000_000, 50_000
    run.save()
    assert "2.5" in page.get(reverse("run", args=[run.pk])).text


@pytest.mark.parametrize("state", [RunState.DONE, RunState.CANCELLED])
def test_the_limits_of_a_run_that_has_ended_stay(page, maker, state):
    run = a_run(state=state)
    assert page.get(reverse("run", args=[run.pk])).context["limits_form"] is None
    for tokens in (5, 0):
        wanted = {"tokens": tokens}
        assert "has ended" in page.post(reverse("run_limits", args=[run.pk]), wanted, follow=True).text
    is_problem(Program(maker, "manage")("PUT", f"runs/{run.pk}/limits", {"tokens": 5}), 409)
    run.state = RunState.PAUSED  # as it was read before it ended
    with pytest.raises(RunRefused, match=f"Run {run.pk} has ended"):
        limits.set_limits(run=run, limits=Limits(tokens=5), by=None)
    run.refresh_from_db()
    assert run.limits == {}
    assert not AuditEvent.objects.filter(what="run limits changed").exists()


@pytest.mark.parametrize(
    ("field", "fits", "beyond"),
    [
        ("tokens", (1, 10**12), (0, 10**12 + 1)),
        ("in_flight", (1, 1024), (0, 1025)),
        ("price_in", (0, 10**12), (-0.1, 10**12 + 1)),
        ("price_out", (0, 10**12), (-0.1, 10**12 + 1)),
        ("cost", (0.1, 10**12), (-0.1, 10**12 + 1)),
    ],
)
def test_limits_have_bounds(field, fits, beyond):
    for value in (*fits, *beyond):
        form = LimitsForm({**PRICES, field: value}, run=Run())
        assert form.is_valid() is (value in fits), value


def test_a_limit_of_cost_without_both_prices_is_said_in_a_sentence():
    form = LimitsForm({"cost": 1, "price_in": 1}, run=Run())
    assert form.is_valid()
    assert form.limits() is None
    assert form.errors["cost"] == ["It needs both prices, of a million tokens in prompts and in answers."]


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"tokens": 0}, "tokens"),
        ({"cost": 1}, "cost"),
        ({"cost": 0, **PRICES}, "cost"),
        ({"cost": "nan", **PRICES}, "cost"),
        ({"price_in": -1}, "price_in"),
        ({"in_flight": 5000}, "in_flight"),
    ],
)
def test_limits_that_cannot_be_are_said_beside_their_field(page, maker, wanted, field):
    run = a_run(state=RunState.PAUSED, limits={"tokens": 7})
    shown = page.post(reverse("run_limits", args=[run.pk]), wanted)
    assert (shown.status_code, list(shown.context["limits_form"].errors)) == (422, [field])
    answered = Program(maker, "manage")("PUT", f"runs/{run.pk}/limits", wanted)
    assert answered.status_code in (400, 422)
    run.refresh_from_db()
    assert run.limits == {"tokens": 7}


def test_limits_by_the_api_and_the_command(maker):
    run = a_run(state=RunState.PAUSED, limits={"tokens": 7})
    said = Program(maker, "manage")("PUT", f"runs/{run.pk}/limits", {"cost": 2.5, **PRICES, "tokens": None})
    assert said.status_code == 200
    assert AuditEvent.objects.get(what="run limits changed").by == maker
    prices = {"price_in": 2.0, "price_out": 10.0}
    assert said.json()["spent"]["limits"] == {"tokens": None, "in_flight": None, "cost": 2.5, **prices}
    out = io.StringIO()
    call_command("runs", "limit", str(run.pk), "--tokens", "9", "--cost", "0", stdout=out)
    assert "tokens 9" in out.getvalue()
    run.refresh_from_db()
    assert run.limits == {"tokens": 9, "price_in": 2.0, "price_out": 10.0}
    with pytest.raises(CommandError, match="in_flight"):
        call_command("runs", "limit", str(run.pk), "--in-flight", "-3")


def test_the_api_lists_answers_by_cursor_and_reads_one_whole(maker):
    run = a_run()
    for number in range(5):
        answer(run, f"{number}" * (30_000 if number == 4 else 1))
    program = Program(maker, "read")
    texts, next_page = [], f"/api/v1/runs/{run.pk}/answers?limit=2"
    while next_page:
        body = program.get(next_page.partition("/api/v1/")[2]).json()
        texts += [row["text"] for row in body["results"]]
        next_page = body["next"]
    assert [text[0] for text in texts] == list("01234")
    assert (len(texts[4]), body["results"][0]["characters"]) == (10_000, 30_000)
    assert body["previous"]
    job = body["results"][0]["job"]
    whole = program.get(f"runs/{run.pk}/answers/{job}").json()
    assert len(whole["asking"]["text"]) == 30_000
    assert whole["recipe"] == run.recipe
    is_problem(program.get(f"runs/{run.pk}/answers?cursor=nonsense"), 422)
    other = f"runs/{a_run().pk}/answers?{body['previous'].partition('?')[2]}"
    is_problem(program.get(other), 422)
    before = program.get(body["previous"].partition("/api/v1/")[2]).json()
    assert [row["text"] for row in before["results"]] == ["2", "3"], "as many as were asked for before"
    answer(run, "refused", key="other", ended="filter")
    for query, found in (
        ("ended=filter", ["refused"]),
        ("contains=REF", ["refused"]),
        ("key=oth", ["refused"]),
        ("order=-job&limit=1", ["refused"]),
        ("ended=stop&limit=1", ["0"]),
    ):
        said = program.get(f"runs/{run.pk}/answers?{query}").json()
        assert [row["text"] for row in said["results"]] == found, query
    is_problem(program.get(f"runs/{run.pk}/answers?contain=x"), 400)
    is_problem(program.get(f"runs/{a_run().pk}/answers/{job}"), 404)
