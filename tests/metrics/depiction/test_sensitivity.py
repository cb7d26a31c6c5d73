"""Widths of intervals where annotators are not identified, as scores and on the page of identity groups."""

from html import unescape

import numpy as np
import pytest
from django.urls import reverse

from annotation.models import Association, Response, Study, TaskKind
from metrics.depiction import sensitivity_scores
from metrics.depiction.queries import sensitivity as sensitivity_queries
from metrics.models import Score
from metrics.score_runs import services as score_runs
from metrics.score_runs.evaluation import evaluate
from metrics.score_runs.metric import NothingToCompute
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_resamples")]
TEXTS = ("hat", "sombrero", "kind")


def judged(name, *, people=(), leads=(), images=6, **fields):
    """A study of one group; `people` differ in how often they see its stereotypes. Without people, nobody is
    identified."""
    rng = np.random.default_rng(1)
    source = factories.source("votes")
    study = factories.study(name, leads=leads, stereotype_source=source, **fields)
    task = factories.task(study, kind=TaskKind.DEPICTION)
    for text in TEXTS[:2]:
        if not source.associations.filter(attribute__text=text).exists():
            factories.association(text=text, out_votes=(3, 0, 0), from_source=source)
    answers = []
    pictures = factories.images(range(1, images + 1), of=factories.image_set(name))
    for unit in factories.page_units(task, [(picture, TEXTS) for picture in pictures]):
        for place, who in enumerate(people or (None,) * 3):
            seen = (rng.random(3) < (0.2, 0.5, 0.9)[place]).astype(int).tolist()
            answers.append((unit, [*seen, 0], who))
    factories.responses(answers)
    return study


@pytest.fixture
def people():
    return [factories.annotator() for _ in range(3)]


def widths(study):
    found = evaluate(
        study=Study.objects.get(pk=study.pk),
        metric="annotator_sensitivity",
        variant="corrected",
        resamples=0,
        seed=0,
    )
    return {row.name: row for row in found.rows if not row.part}


def test_without_other_studies_a_range_is_assumed(people):
    found = widths(judged("release"))
    sd = found["annotator_sd"]
    assert (sd.value, sd.low, sd.high, sd.n) == (1.0, 0.5, 1.5, 0)
    now, of_12, of_30 = (found[name] for name in ("half_width", "half_width_12", "half_width_30"))
    assert now.value < of_30.value < of_12.value
    assert of_12.low < of_12.value < of_12.high


def test_the_page_reads_the_numbers_of_people_that_are_computed(monkeypatch):
    for module in (sensitivity_scores, sensitivity_queries):
        monkeypatch.setattr(module, "PEOPLE", (8, 40))
    study = judged("release")
    run = score_runs.request(study=study, metric="annotator_sensitivity", variant="corrected")
    score_runs.compute_pending()
    [row] = sensitivity_queries.sensitivity(run).rows
    assert (row.of_few.name, row.of_more.name) == ("half_width_8", "half_width_40")
    for number, name in enumerate(("Welsh", "Thai", "Cuban")):
        for score in ("half_width", "half_width_8", "half_width_40")[: 2 if name == "Cuban" else 3]:
            group = factories.group(name)
            Score.objects.create(run=run, group=group, name=score, value=8 + number, n=2)
    found = sensitivity_queries.sensitivity(run)
    assert [row.group.name for row in found.rows] == ["Mexican", "Thai", "Welsh"]
    assert found.example.group.name == "Welsh", "the one with the width in the middle"


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1]])
def test_without_a_group_that_is_reported_there_is_nothing_to_show(texts):
    study = judged("release")
    Association.objects.filter(attribute__text__in=texts).delete()
    run = score_runs.request(study=study, metric="annotator_sensitivity", variant="corrected")
    score_runs.compute_pending()
    assert run.scores.exists()
    assert sensitivity_queries.sensitivity(run) is None


def test_people_of_other_studies_are_the_measure(people):
    lead = factories.user()
    judged("theirs", people=people, leads=[lead])
    found = widths(judged("release", leads=[lead]))
    assert found["annotator_sd"].n == 1
    assert 0.8 < found["annotator_sd"].value < 3
    assert found["half_width_12"].low is None


def test_only_studies_that_all_leads_may_read_and_that_people_answered_count(people):
    lead, other = factories.user(), factories.user()
    judged("theirs", people=people, leads=[other])
    judged("programs", people=people, leads=[lead], simulated=True)
    release = judged("release", leads=[lead])
    assert sensitivity_scores.compared_studies(release) == []
    before = sensitivity_scores.inputs_fingerprint(release, {})
    theirs = Study.objects.get(name="theirs")
    theirs.leads.add(lead)
    factories.task(theirs, kind=TaskKind.DEPICTION, version=2)
    assert [one.name for one in sensitivity_scores.compared_studies(release)] == ["theirs"]
    assert sensitivity_scores.inputs_fingerprint(release, {}) != before


def test_without_leads_no_other_study_is_read(people):
    judged("theirs", people=people, leads=[factories.user()])
    assert sensitivity_scores.compared_studies(judged("release")) == []


def test_a_lead_added_later_reads_nothing_from_studies_of_others(client, lead, people):
    first = factories.user()
    judged("theirs", people=people, leads=[first])
    release = judged("release", leads=[first])
    score_runs.request(study=release, metric="tendency", variant="corrected")
    run = score_runs.request(study=release, metric="annotator_sensitivity", variant="corrected")
    score_runs.compute_pending()
    release.leads.add(lead)
    base = "/api/v1/studies/release/"

    def read(who) -> tuple[bool, list[int]]:
        client.force_login(who)
        replies = [
            client.get(f"{base}scores", {"metric": "annotator_sensitivity"}),
            client.get(f"{base}score-runs/{run.pk}/scores"),
        ]
        shown = "12 people" in client.get(reverse("identities", args=["release"])).text
        return shown, [reply.status_code for reply in replies]

    assert read(first) == (True, [200, 200])
    assert read(lead) == (False, [422, 422])
    score_runs.request(study=release, metric="annotator_sensitivity", variant="corrected")
    score_runs.compute_pending()
    assert read(lead) == (True, [200, 422])  # of what is assumed


def test_studies_without_identified_annotators_cost_no_queries(django_assert_num_queries, people):
    lead = factories.user()
    release = judged("release", leads=[lead])
    for name in ("theirs", "unknown", "also unknown"):
        judged(name, people=people if name == "theirs" else (), leads=[lead])
    with django_assert_num_queries(2):  # leads and studies
        assert [one.name for one in sensitivity_scores.compared_studies(release)] == ["theirs"]


def test_identified_annotators_need_no_supposition(people):
    study = judged("known", people=people)
    with pytest.raises(NothingToCompute, match="are identified"):
        score_runs.request(study=study, metric="annotator_sensitivity", variant="corrected")


def test_one_identified_answer_is_enough(people):
    study = judged("mixed")
    assert not sensitivity_scores.are_identified(study)
    last = Response.objects.filter(unit__task__study=study).latest("pk")
    Response.objects.filter(pk=last.pk).update(annotator=people[0])
    assert sensitivity_scores.are_identified(study)


def test_a_lead_reads_it_beside_the_scores(client, lead, people):
    release = judged("release", leads=[lead])
    for metric in ("tendency", "annotator_sensitivity"):
        score_runs.request(study=release, metric=metric, variant="corrected")
    score_runs.compute_pending()

    def page() -> str:
        return " ".join(unescape(client.get(reverse("identities", args=["release"])).text).split())

    assert "differ by a standard deviation of 0.5 to 1.5 logits, which is assumed" in page()
    assert "of=annotator_sensitivity%3Acorrected" in page()
    judged("theirs", people=people, leads=[lead])
    score_runs.request(study=release, metric="annotator_sensitivity", variant="corrected")
    score_runs.compute_pending()
    shown = page()
    assert "12 people who differ as annotators of other studies do" in shown
    assert "L(stereo) of Mexican would be known to within ±0." in shown
    client.force_login(lead)
    known = judged("known", people=people, leads=[lead])
    score_runs.request(study=known, metric="tendency", variant="corrected")
    score_runs.compute_pending()
    assert "12 people" not in client.get(reverse("identities", args=["known"])).text
