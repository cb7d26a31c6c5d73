"""Figures, progress, identity groups and annotators by the API: the numbers of the pages."""

from __future__ import annotations

import io
import json

import pytest
from PIL import Image

from metrics.dashboards.figures import FIGURES
from metrics.score_runs import services as score_runs
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.metrics import cast
from tests.metrics.score_runs.test_scores_api import strict

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def program(lead):
    return Program(lead)


@pytest.fixture
def words(lead):
    return cast.visual_study({"hat": [5, 5, 4], "kind": [1, 2, 3]}, name="words", leads=[lead])


def test_every_figure_is_listed_with_its_options(program, words):
    said = strict(program.get("studies/words/figures"))["results"]
    assert [one["name"] for one in said] == list(FIGURES)
    (pull,) = [one for one in said if one["name"] == "pull"]
    assert pull["options"]
    assert pull["formats"] == ["svg", "png", "pdf", "csv"]


def test_a_figure_comes_as_specification_and_as_files(program, words):
    said = strict(program.get("studies/words/figures/consensus"))
    assert said["specification"]["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert len(said["rows"][0]) == len(said["columns"])
    table = program.get("studies/words/figures/consensus/csv")
    assert table["Content-Type"] == "text/csv; charset=utf-8"
    assert table.content.decode().splitlines()[0] == ",".join(said["columns"])
    picture = program.get("studies/words/figures/consensus/png", Accept="image/png")
    assert Image.open(io.BytesIO(picture.content)).format == "PNG"
    assert program.get("studies/words/figures/consensus/svg").content.startswith(b"<svg")
    assert program.get("studies/words/figures/consensus/pdf").content.startswith(b"%PDF")
    etag = picture["ETag"]
    again = program.get("studies/words/figures/consensus/png", **{"If-None-Match": etag})
    assert again.status_code == 304


def test_a_figure_that_cannot_be_drawn_says_why(program, words):
    assert "no embeddings" in is_problem(program.get("studies/words/figures/pull"), 422)["detail"]
    nothing = is_problem(program.get("studies/words/figures/annotated-image"), 409)["detail"]
    assert "words" in nothing
    is_problem(program.get("studies/words/figures/nothing"), 404)
    is_problem(program.get("studies/words/figures/consensus/exe"), 404)
    is_problem(program.get("studies/words/figures/consensus?top=5"), 422)
    is_problem(program.get("studies/words/figures/consensus?colour=red"), 400)
    is_problem(program.get("studies/words/figures/thresholds?from=nowhere"), 422)


@pytest.mark.parametrize("name", list(FIGURES))
def test_whatever_a_figure_shows_is_json(lead, program, name):
    """Of a study with infinite ratios among its scores, as well."""
    study = cast.depiction_study(name="hats", leads=[lead])
    score_runs.request(study=study, metric="tendency", variant="corrected", resamples=100)
    score_runs.compute_pending()
    answer = program.get(f"studies/hats/figures/{name}")
    assert answer.status_code in {200, 409, 422}
    strict(answer)


def test_progress_is_that_of_the_page(program, words):
    said = strict(program.get("studies/words/progress"))
    assert said["total"] == {"wanted": 6, "filled": 6, "leased": 0, "open": 0}
    (task,) = said["tasks"]
    assert (task["kind"], task["strata"]) == (
        "visual_nature",
        [{"stratum": "any", "wanted": 6, "filled": 6, "leased": 0, "open": 0}],
    )
    assert sum(day["responses"] for day in said["pace"]["days"]) == said["pace"]["timed"] == 6
    assert [rate["hours"] for rate in said["pace"]["rates"]] == [1], "all answers are of this hour"


def test_groups_without_enough_stereotypes_stand_apart(lead, program, django_assert_max_num_queries):
    study = cast.depiction_study(name="hats", leads=[lead])
    assert strict(program.get("studies/hats/identities"))["run"] is None
    score_runs.request(study=study, metric="tendency", variant="corrected", resamples=100)
    score_runs.compute_pending()
    with django_assert_max_num_queries(24):
        said = strict(program.get("studies/hats/identities"))
    (row,) = said["results"]
    assert row["group"]["name"] == "Mexican"
    assert row["theta"]["value"] == pytest.approx(5)
    assert row["offensiveness"] is None
    assert [group["name"] for group in said["unreported"]] == ["Nepali"]
    assert said["run"]["metric"] == "tendency"


def test_annotators_stand_under_their_pseudonyms_alone(lead, program):
    secret = factories.user("somebody-with-a-name")
    people = [factories.annotator(user=secret, pseudonym="a-77"), *(factories.annotator() for _ in range(2))]
    cast.visual_study({"hat": [5, 5, 4], "kind": [1, 2, 3]}, people=people, name="words", leads=[lead])
    answer = program.get("studies/words/quality?order=annotator")
    said = strict(answer)
    assert [row["annotator"] for row in said["results"]] == sorted(who.pseudonym for who in people)
    assert all(row["answers"] == 2 and row["simulated"] is False for row in said["results"])
    assert "somebody-with-a-name" not in json.dumps(said)
    backwards = strict(program.get("studies/words/quality?order=-annotator"))["results"]
    assert [row["annotator"] for row in backwards] == sorted((who.pseudonym for who in people), reverse=True)
    is_problem(program.get("studies/words/quality?order=name"), 400)
