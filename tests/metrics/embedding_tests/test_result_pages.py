"""Pages of a stored file's results: numbers, words, figures, missing texts, encoders, and the ranking."""

from __future__ import annotations

import re

import numpy as np
import pytest
from django.contrib.messages import get_messages
from django.core.cache import cache
from django.template.loader import render_to_string
from django.urls import reverse

from generation.jobs.services import work
from generation.models import Embedding, Job, Run, TextEmbedding
from metrics.embedding_tests.figures import figure_of
from metrics.embedding_tests.reference import US_STATES
from metrics.embedding_tests.stats.ranking import correlate
from metrics.embedding_tests.tested import by_encoder, with_vectors
from metrics.models import EmbeddingTestFile
from tests import factories
from tests.annotation.api.calls import Program
from tests.metrics.embedding_tests import stored as given

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(client):
    """The lead of a study, who may not set one up."""
    lead = factories.lead_of("faces")
    client.force_login(lead)
    return lead


@pytest.fixture
def maker(client):
    made = factories.user(lead=True)
    client.force_login(made)
    return made


@pytest.fixture
def run():
    made = given.embedded()
    given.texts(made)
    return made


def page(client, name: str, stored, **query) -> str:
    answer = client.get(reverse(name, args=[stored.pk]), query)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.usefixtures("undrawn")
def test_the_page_shows_the_numbers_of_each_test_and_a_sentence(client, reader, run):
    stored = given.stored(run)
    text = page(client, "embedding_test_file", stored)
    numbers = with_vectors(stored, encoder="").results("corrected")[0].numbers
    assert numbers.effect_size > 0.8
    assert f"{numbers.effect_size:.2f}" in text
    assert f"[{numbers.effect_low:.2f}, {numbers.effect_high:.2f}]" in text
    assert "Images of “White” are closer to “we, us”, rather than to “they, them”, than images" in text
    assert "a large effect" in text
    assert "<td>“White”; “Asian”</td>" in text
    assert "“we, us” – “they, them”" in text
    assert "made elsewhere" in text
    assert "says nothing about the people" in text
    assert f"{numbers.effect_size:.2f}" in page(client, "embedding_test_file", stored, variant="odd")
    published = page(client, "embedding_test_file", stored, variant="published")
    assert f"{with_vectors(stored, encoder='').results('published')[0].numbers.effect_size:.2f}" in published
    assert "divided by n, also" in published
    assert "encoder=" not in published


@pytest.mark.parametrize("fmt", ["svg", "csv", "json"])
def test_the_figure_of_effects_is_a_file(client, reader, run, fmt):
    stored = given.stored(run)
    url = reverse("embedding_test_figure", args=[stored.pk, "effects", fmt])
    found = client.get(url, {"variant": "published", "download": ""})
    assert found.headers["Content-Disposition"] == f'attachment; filename="we-they-effects.{fmt}"'
    assert b"Patriotic" in found.content
    if fmt == "csv":
        row = found.content.decode().splitlines()[1].split(",")
        expected = with_vectors(stored, encoder="").results("published")[0].numbers
        assert float(row[2]) == pytest.approx(expected.effect_size)


@pytest.mark.parametrize("figure", ["nothing", "map-0", "map-3", "map-x", "effects-1"])
def test_other_figures_are_not_there(client, reader, run, figure):
    stored = given.stored(run)
    assert client.get(reverse("embedding_test_figure", args=[stored.pk, figure, "csv"])).status_code == 404
    exe = reverse("embedding_test_figure", args=[stored.pk, "effects", "exe"])
    assert client.get(exe).status_code == 404


def test_a_degenerate_test_shows_its_problem_and_the_others_their_numbers(client, reader):
    run = given.embedded()
    given.texts(run)
    Embedding.objects.filter(run=run, image__group__name="Asian", image__index__gt=1).delete()
    text = page(client, "embedding_test_file", given.stored(run, ranks=False))
    [result, _other] = with_vectors(given.stored(run, "again", ranks=False), encoder="").results("corrected")
    assert result.numbers is None
    # of both tests, in the table and in words
    assert text.count(result.problem.split("'")[0]) == 4
    assert "This file has a ranking only" not in text
    number = EmbeddingTestFile.objects.get(name="again").pk
    row = Program(reader).get(f"embedding-test-files/{number}/results").json()["results"][0]
    assert (row["problem"], row["effect_size"], row["q"], row["n_x"]) == (result.problem, None, None, None)


def test_missing_texts_of_vectors_made_elsewhere_have_a_cure_and_no_button(client, maker):
    run = given.embedded()
    given.texts(run, "we")
    stored = given.stored(run, ranks=False)
    text = page(client, "embedding_test_file", stored)
    assert "4 texts of this file are not embedded yet" in text
    assert 'role="alert"' not in text
    assert "only their encoder can embed more" in text
    assert "Embed the texts" not in text
    answer = client.post(reverse("embed_test_texts", args=[stored.pk]), follow=True)
    assert "made elsewhere" in answer.content.decode()
    assert not Job.objects.exists()
    answer = client.post(reverse("embed_test_texts", args=[stored.pk]) + "?encoder=their-clip")
    assert answer.headers["Location"].endswith("?encoder=their-clip")


@pytest.mark.usefixtures("undrawn")
def test_tests_and_ranking_each_need_their_own_texts_only(client, reader):
    run = given.embedded()
    given.texts(run, *given.TEXTS)
    stored = given.stored(run)
    program, address = Program(reader), f"embedding-test-files/{stored.pk}"
    assert [program.get(f"{address}/{what}").status_code for what in ("results", "ranking")] == [200, 409]
    assert "In words" in page(client, "embedding_test_file", stored)
    ranking = page(client, "embedding_test_ranking", stored)
    assert "5 texts of this file are not embedded yet" in ranking
    assert 'role="alert"' not in ranking
    assert "“White”: on average" not in ranking
    TextEmbedding.objects.all().delete()
    given.texts(run, *(f"someone in {region}" for region in given.REGIONS))
    cache.clear()
    assert "In words" not in page(client, "embedding_test_file", stored)
    assert "“White”: on average" in page(client, "embedding_test_ranking", stored)
    assert [program.get(f"{address}/{what}").status_code for what in ("results", "ranking")] == [409, 200]


def test_a_file_is_about_the_set_of_its_row_whatever_its_text_names(run):
    stored = given.stored(run)
    stored.text = given.toml(name="elsewhere")
    assert with_vectors(stored).run == run


@pytest.mark.usefixtures("undrawn")
def test_the_button_embeds_the_texts_with_the_recipe_of_the_images(client, maker, tmp_path, monkeypatch):
    from tests.generation.image_sets import world as pictures

    made = pictures.made(pictures.pictures("White", "Asian"))
    from generation.recipes.recipes import EmbeddingRecipe

    run = pictures.made(pictures.read(made, EmbeddingRecipe(backend="fake")))
    assert run.image_set is not None
    stored = given.stored(run, encoder="fake")
    text = page(client, "embedding_test_file", stored)
    assert "Embed the texts" in text
    assert "simulated" in text
    started = []
    monkeypatch.setattr("generation.jobs.tasks.enqueue", started.append)
    other = given.stored(run, "other", encoder="nobody")
    answer = client.post(reverse("embed_test_texts", args=[other.pk]) + "?encoder=fake")
    assert answer.headers["Location"] == reverse("run", args=[run.pk])
    assert [str(said) for said in get_messages(answer.wsgi_request)] == ["10 jobs are planned."]
    assert started == [run]
    assert Run.objects.filter(kind="embeddings").count() == 1
    work.work(run_id=run.pk, seconds=60)
    assert TextEmbedding.objects.filter(run=run).count() == len(given.TEXTS) + len(given.REGIONS)
    assert "In words" in page(client, "embedding_test_file", stored)
    assert "simulated" in page(client, "embedding_test_ranking", stored)


@pytest.mark.usefixtures("undrawn")
def test_readers_see_no_button(client, reader):
    run = given.embedded(backend="open_clip")
    stored = given.stored(run)
    text = page(client, "embedding_test_file", stored)
    assert "Somebody who may generate images" in text
    assert "made elsewhere" not in text
    assert "Embed the texts" not in text
    assert client.post(reverse("embed_test_texts", args=[stored.pk])).status_code == 404


def test_a_set_without_vectors_is_said(client, reader, run):
    stored = given.stored(run)
    Run.objects.all().delete()
    for name in ("embedding_test_file", "embedding_test_ranking"):
        assert "No image of the set" in page(client, name, stored)
    assert "No encoder has embedded" in page(client, "embedding_test_encoders", stored)
    assert client.get(reverse("embedding_test_figure", args=[stored.pk, "points", "csv"])).status_code == 404


def test_encoders_are_side_by_side(client, reader, run):
    other = given.embedded(model="other-clip", seed=5)
    given.texts(other, seed=6)
    lacking = given.embedded(model="third-clip")
    stored = given.stored(run)
    text = page(client, "embedding_test_encoders", stored)
    for encoder in ("their-clip", "other-clip"):
        effect = with_vectors(stored, encoder=encoder).results("corrected")[0].numbers
        assert f"{effect.effect_size:.2f} " in text
    assert "5 texts are not embedded yet" in text
    assert f"encoder={lacking.pk}" in text
    [picture] = re.findall(r'<img src="([^"]+)"', text)
    assert picture.endswith("encoders.svg?variant=corrected")
    svg = client.get(picture.replace("&amp;", "&")).content.decode()
    assert "other-clip" in svg
    assert "third-clip" not in svg
    shown = page(client, "embedding_test_file", stored, encoder=str(other.pk), variant="published")
    assert f"effects.svg?variant=published&amp;encoder={other.pk}" in shown
    assert f"{reverse('embedding_test_ranking', args=[stored.pk])}?encoder={other.pk}" in shown
    csv = client.get(
        reverse("embedding_test_figure", args=[stored.pk, "effects", "csv"]), {"encoder": other.pk}
    )
    assert float(csv.content.decode().splitlines()[1].split(",")[2]) == pytest.approx(effect.effect_size)
    assert "other-clip" in shown


@pytest.mark.usefixtures("undrawn")
def test_the_newest_run_of_an_encoder_counts(client, reader, run):
    newer = given.embedded(seed=9)
    given.texts(newer)
    stored = given.stored(run)
    text = page(client, "embedding_test_encoders", stored)
    assert f"encoder={newer.pk}" in text
    assert f'encoder={run.pk}"' not in text
    given.embedded(per_group=0)  # has embedded nothing yet
    assert [one.run for one in by_encoder(stored, variant="corrected")] == [newer]
    assert with_vectors(stored).run == newer


def test_tests_with_one_beginning_have_rows_of_their_own(client, reader, run):
    long = "Images of White and Asian people and the words of an "
    twins = "a" * 30 + "{}" + "b" * 30
    names = ["short", f"{long}in-group", f"{long}out-group", twins.format(1), twins.format(2), "c" * 60]
    stored = given.stored(run, tests=[{**given.EAT, "name": name} for name in names], ranks=False)
    figure = figure_of(stored, "effects", variant="corrected")
    assert [row[0] for row in figure.rows] == names
    assert all(f"{name}: " in figure.alt for name in names)
    url = reverse("embedding_test_figure", args=[stored.pk, "effects", "svg"])
    svg = client.get(url).content.decode()
    labels = re.findall(r">([^<>]*)</text>", svg)
    shown = [label for label in labels if label in ("short", "c" * 43 + "…") or "…" in label]
    assert len(set(shown)) == len(shown) == len(names)
    assert [label[-9:] for label in shown[1:3]] == [" in-group", "out-group"]
    assert max(map(len, shown)) <= 44


@pytest.mark.usefixtures("undrawn")
def test_small_p_values_are_not_shown_as_zero(client, reader):
    run = given.embedded(per_group=40)
    given.texts(run)
    stored = given.stored(run, ranks=False, tests=[given.EAT])
    [one] = with_vectors(stored).results("corrected")
    assert one.numbers.p_value < 0.00005
    text = page(client, "embedding_test_file", stored)
    assert "0.0000" not in text
    assert text.count('<td class="number">&lt; 0.001') == 4


def test_the_ranking_shows_correlations_words_points_and_maps(client, reader, run):
    stored = given.stored(run)
    text = page(client, "embedding_test_ranking", stored)
    found = with_vectors(stored, encoder="").ranking()
    assert f"{found.comparison.groups[0].rho:.2f}".replace("-", "−") in text
    assert "“White”: on average" in text
    assert "64.0 % of the reference" in text  # (0.9 + 0.2 + 0.8 + 0.6 + 0.7) / 5
    assert "In each of 20 drawings" in text
    pictures = re.findall(r'<img src="([^"]+)"', text)
    assert [re.search(r"figures/([a-z0-9-]+)", url)[1] for url in pictures] == ["points", "map-1", "map-2"]
    assert client.get(pictures[1]).content.startswith(b"<svg")
    areas = client.get(reverse("embedding_test_figure", args=[stored.pk, "map-1", "json"])).json()["datasets"]
    assert {area["region"] for area in areas["areas"]} == set(US_STATES)
    shares = {row.region: row.share for row in found.rows if row.group == "White"}
    assert {area["region"]: area["share"] for area in areas["areas"] if "share" in area} == shares
    assert f"{100 * sum(shares.values()) / 5:.1f} % of the images found" in text
    rows = client.get(reverse("embedding_test_figure", args=[stored.pk, "points", "csv"])).content.decode()
    assert rows.splitlines()[0] == "region,group,share,reference"
    assert len(rows.splitlines()) == 1 + 2 * len(given.REGIONS)


@pytest.mark.usefixtures("undrawn")
def test_the_ranking_shows_correlations_with_other_variables(client, reader, run, monkeypatch):
    with monkeypatch.context() as without:
        without.setattr("metrics.embedding_tests.figures.map_figure", lambda *_: None)
        text = page(client, "embedding_test_ranking", given.stored(run))
    assert "Other variables" not in text
    assert "there is no map of them" in text
    stored = given.stored(run, "more", variables=given.VARIABLES)
    text = page(client, "embedding_test_ranking", stored)
    one = with_vectors(stored, encoder="")
    [bias] = one.variable_correlations(one.ranking())
    [row] = re.findall(r'<tr><th scope="row">bias</th>.*?</tr>', text, re.DOTALL)
    assert '<td class="number">4</td>' in row
    for each in bias.groups:
        assert f"{each.rho:.2f} ".replace("-", "−") in row
        assert f"p = {each.p_value:.3f}" in row


def test_a_correlation_that_there_is_not_has_no_interval():
    none = correlate(np.array([0.2, 0.3, 0.5]), np.ones(3))
    assert render_to_string("metrics/embedding_tests/_correlation.html", {"numbers": none}).strip() == "–"


@pytest.mark.usefixtures("undrawn")
def test_encoders_rank_side_by_side(client, reader, run):
    other = given.embedded(model="other-clip", seed=5)
    given.texts(other, seed=6)
    given.embedded(model="third-clip")
    stored = given.stored(run, tests=())
    text = page(client, "embedding_test_encoders", stored).partition('id="rankings"')[2]
    for encoder in ("their-clip", "other-clip"):
        found = with_vectors(stored, encoder=encoder).ranking().comparison
        row = text.partition(f">{encoder}<")[2].partition("</tr>")[0]
        assert f"{found.groups[1].rho:.2f} ".replace("-", "−") in row
        assert f'<td class="number">{found.r2:.2f}</td>'.replace("-", "−") in row
    assert '<td colspan="3">5 texts are not embedded yet.' in text.partition(">third-clip<")[2]
    ranking = page(client, "embedding_test_ranking", stored, encoder=str(other.pk))
    assert "other-clip" in ranking
    for figure in ("points", "map-1", "map-2"):
        assert f"{figure}.svg?encoder={other.pk}" in ranking
    assert 'id="rankings"' not in page(client, "embedding_test_encoders", given.stored(run, "b", ranks=False))


def test_a_file_without_a_ranking_says_so(client, reader, run):
    assert "has no ranking" in page(client, "embedding_test_ranking", given.stored(run, ranks=False))


def test_annotators_see_none_of_it(client, run):
    stored = given.stored(run)
    client.force_login(factories.user())
    for name, *arguments in (
        ("embedding_tests",),
        ("embedding_test_file", stored.pk),
        ("embedding_test_encoders", stored.pk),
        ("embedding_test_ranking", stored.pk),
        ("embedding_test_figure", stored.pk, "effects", "svg"),
        ("embedding_test_download", stored.pk, "toml"),
        ("edit_embedding_tests", stored.pk),
        ("new_embedding_tests",),
    ):
        assert client.get(reverse(name, args=arguments)).status_code == 404


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("name", "most"),
    [("embedding_test_file", 25), ("embedding_test_encoders", 25), ("embedding_test_ranking", 25)],
)
def test_pages_ask_as_many_queries_for_more_tests(
    client, maker, run, django_assert_max_num_queries, name, most
):
    several = [{**given.EAT, "name": f"Test {number}"} for number in range(9)]
    files = [given.stored(run, "few"), given.stored(run, "many", tests=several)]
    counts = []
    for stored in [files[0], *files]:
        cache.clear()
        with django_assert_max_num_queries(100) as found:
            page(client, name, stored)
        counts.append(len(found))
    assert counts[1] == counts[2] <= most


def test_the_list_shows_files_and_published_ones(client, maker, run, monkeypatch):
    given.stored(run, "a-first")
    given.stored(run)
    monkeypatch.setattr("metrics.embedding_tests.views.results.FILES_PER_PAGE", 1)
    url = reverse("embedding_tests")
    text = client.get(url, {"page": "2"}).content.decode()
    assert "we-they" in text
    assert "a-first" not in text
    assert "published=us-states" in text
    client.force_login(factories.lead_of("faces"))
    text = client.get(url).content.decode()
    assert "a-first" in text
    assert "New tests" not in text
