"""Lists of candidates, striking out, and the study they become."""

import pytest
from django.db import IntegrityError

from annotation.core.leases import JobState
from annotation.models import Association, AuditEvent, IdentityGroup, Source, Study, StudyStatus, Unit
from generation.models import Run, RunKind
from metrics.candidates import evaluation, queries
from metrics.candidates.evaluation import CandidatesRefused
from metrics.candidates.extraction import whole_text
from metrics.candidates.identity_forms import IdentityForms
from metrics.candidates.prompts import Seed
from metrics.candidates.queries import askings_of, completion_runs, group_rows, remaining, struck_by
from metrics.candidates.services import lists, striking, studies
from metrics.core import run_lists
from metrics.core.origins import source_title
from metrics.core.purposes import ASSOCIATIONS, MACHINE_JUDGE
from metrics.models import Candidate, CandidateList, StruckCandidate
from tests import factories
from tests.metrics.candidates import asked

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    asked.groups()
    return asked.run("(Mexico, dance), (dancing, Mexicans)", "(Chilean, poet) (Iraqi, dance)", "Sorry.")


def found(run):
    made = lists.request(run=run)
    return lists.compute(list_id=made.pk) or made


def texts(rows):
    return sorted((row.group.name, row.attribute) for row in rows)


ALL = [("Chilean", "poet"), ("Iraqi", "dance"), ("Mexican", "dance")]


def test_a_list_is_found_once_for_the_same_answers_and_again_after_new_ones(run, monkeypatch):
    made = found(run)
    assert made.state == JobState.DONE
    assert texts(made.candidates.all()) == ALL
    assert made.candidates.get(group__name="Mexican").also == ["dancing"]
    assert (made.rules["answers"], made.rules["answers_without_tuple"], made.rules["ing"]) == (3, 1, 1)
    assert not lists.is_stale(made)
    read = []
    monkeypatch.setattr(evaluation, "_texts", lambda of: read.append(of) or iter(()))
    assert lists.request(run=run) == made
    assert lists.compute(list_id=made.pk) is None
    assert not read
    monkeypatch.undo()
    asked.add(run, "(Iraqi, hot)")
    assert lists.is_stale(made)
    again = found(run)
    assert again.pk == made.pk
    assert texts(again.candidates.all()) == sorted([*ALL, ("Iraqi", "hot")])


@pytest.mark.parametrize("field", ["region", "name", "demonym", "country"])
def test_a_changed_group_makes_the_list_stale(run, field):
    made = lists.request(run=run)
    assert not lists.is_stale(made)
    IdentityGroup.objects.filter(name="Iraqi").update(**{field: "Europe"})
    assert lists.is_stale(made)


def test_a_list_depends_on_which_answers_there_are_and_how_many_are_selected(run):
    def digest(per_region=1000):
        return evaluation.digest(run, axis="nationality", per_region=per_region)

    seen = {digest(), digest(per_region=1)}
    run.answers.earliest("pk").delete()
    seen.add(digest())
    asked.add(run, "(Iraqi, hot)")
    assert len({*seen, digest()}) == 4


def test_runs_of_candidates_are_newest_first_and_none_planned_for_something_else(run):
    judge = asked.run(name="judge", design={"purpose": MACHINE_JUDGE})
    asked.run(name="associations", design={"purpose": ASSOCIATIONS})
    newer = asked.run(name="newer", design={"purpose": "candidates", "axis": "nonsense"})
    assert list(completion_runs()) == [newer, run]
    with pytest.raises(CandidatesRefused, match=r"no run 'never'.*completions: newer, asked\."):
        queries.find_run("never")
    with pytest.raises(CandidatesRefused, match="is a machine judge"):
        lists.request(run=judge)
    run.recipe.pop("design")
    assert evaluation.axis_of(run) == evaluation.axis_of(newer) == "nationality"


def test_what_is_left_of_a_list_is_what_was_selected_and_not_struck_out(run):
    made = lists.request(run=run, per_region=1)
    lists.compute(list_id=made.pk)
    assert texts(remaining(made)) == [("Chilean", "poet"), ("Iraqi", "dance")]
    chosen = made.candidates.filter(attribute="dance")
    striking.strike(candidates=chosen, by=factories.user())
    rows = [(row.group.name, row.candidates, row.selected, row.struck) for row in group_rows(made)]
    assert rows == [("Chilean", 1, 1, 0), ("Mexican", 1, 0, 0), ("Iraqi", 1, 1, 1)]
    assert texts(remaining(made)) == [("Chilean", "poet")]


def test_seeds_of_a_source_are_those_of_its_pool_and_axis_that_can_stand_in_a_prompt():
    asked.groups()
    factories.group("Texan", axis="us_state")
    factories.group("United KingdomUK", demonym="British")
    pairs = [("Mexican", "lazy", 2), ("United KingdomUK", "polite", 2), ("Texan", "tall", 2)]
    for group, text, votes in [*pairs, ("Mexican", "hot, dry", 2), ("Iraqi", "hot", 1)]:
        factories.association(group_name=group, text=text, in_votes=(votes, 0, 0), out_votes=(3, 0, 0))
    another = factories.source("another")
    factories.association(group_name="Mexican", text="kind", in_votes=(2, 0, 0), from_source=another)

    def seeds(pool="in", number=None, seed=0):
        chosen = {"source": "test-source", "axis": "nationality", "threshold": 2}
        return queries.catalogue_seeds(**chosen, pool=pool, number=number, seed=seed)

    assert seeds() == [Seed("Mexican", "lazy"), Seed("British", "polite")]
    assert seeds("out") == [Seed("Iraqi", "hot"), *seeds()]
    assert len(seeds("out", 3)) == 3
    with pytest.raises(CandidatesRefused, match="choose 2 to 3"):
        seeds("out", 4)
    drawn = [seeds("out", 2, seed) for seed in range(9)]
    assert drawn == [seeds("out", 2, seed) for seed in range(9)]
    assert len({seed for pair in drawn for seed in pair}) == 3


def test_a_worker_that_lost_the_list_stores_nothing(run, monkeypatch):
    made = lists.request(run=run)

    def evaluate(of, **chosen):
        result = real(of, **chosen)
        asked.add(run, "(Iraqi, hot)")
        lists.request(run=run)  # the answers have changed: the list waits again
        return result

    real = evaluation.evaluate
    monkeypatch.setattr(evaluation, "evaluate", evaluate)
    after = lists.compute(list_id=made.pk)
    assert after.state == JobState.PENDING
    assert not Candidate.objects.exists()
    monkeypatch.undo()
    assert lists.compute_pending() == 1
    assert ("Iraqi", "hot") in texts(Candidate.objects.all())


def test_many_candidates_are_stored_in_parts(run, monkeypatch):
    lists.request(run=asked.run("(Iraqi, hot)", name="earlier"))
    monkeypatch.setattr(run_lists, "_AT_ONCE", 2)
    assert texts(found(run).candidates.all()) == ALL
    asked.add(run, "(Iraqi, hot)")
    assert len(texts(found(run).candidates.all())) == 4


def test_a_failed_list_says_why_and_is_tried_again_on_request(run, monkeypatch):
    def broken(of, **chosen):
        raise RuntimeError("no memory")

    monkeypatch.setattr(evaluation, "evaluate", broken)
    made = lists.request(run=run)
    for _ in range(3):
        lists.compute(list_id=made.pk)
    made.refresh_from_db()
    assert (made.state, made.error) == (JobState.FAILED, "RuntimeError: no memory")
    assert lists.request(run=run).state == JobState.FAILED
    monkeypatch.undo()
    assert lists.retry(run=run)
    assert lists.compute_pending() == 1


def test_an_axis_without_groups_fails_at_once_with_the_cure(run):
    made = lists.request(run=run, axis="us_state")
    after = lists.compute(list_id=made.pk)
    assert after.state == JobState.FAILED
    assert "import associations first" in after.error


def test_a_run_of_images_has_no_candidates():
    images = Run(kind=RunKind.IMAGES, pk=7, image_set=factories.image_set())
    with pytest.raises(CandidatesRefused, match="runs of completions"):
        lists.request(run=images)


def test_a_run_planned_for_another_axis_is_read_on_it():
    asked.groups()
    factories.group("Texan", axis="us_state", demonym="Texan", country="Texas", region="North America")
    planned = asked.run("(Texan, cowboy)", design={"purpose": "candidates", "axis": "us_state"})
    assert texts(found(planned).candidates.all()) == [("Texan", "cowboy")]


def test_struck_candidates_stay_struck_when_found_again_and_can_be_restored(run):
    lead = factories.user()
    made = found(run)
    poet = made.candidates.get(attribute="poet")
    assert striking.strike(candidates=[poet], by=lead) == 1
    assert striking.strike(candidates=[poet], by=lead) == 0
    row = StruckCandidate.objects.get()
    assert (row.by, row.run) == (lead, run)
    asked.add(run, "(Iraqi, hot)")
    made = found(run)
    assert ("Chilean", "poet") not in texts(remaining(made))
    poet = made.candidates.get(attribute="poet")
    assert striking.restore(candidates=[poet], by=lead) == 1
    assert striking.restore(candidates=[poet], by=lead) == 0
    assert ("Chilean", "poet") in texts(remaining(made))
    assert list(AuditEvent.objects.order_by("pk").values_list("what", flat=True)) == [
        "candidates struck out",
        "candidates restored",
    ]


def test_what_is_struck_out_is_one_word_of_one_group_in_one_run(run):
    lead = factories.user()
    made = found(run)
    other = found(asked.run("(Iraqi, dance) (Iraqi, hot) (Mexican, dance)", name="other"))
    dance = other.candidates.get(group__name="Iraqi", attribute="dance")
    assert striking.strike(candidates=[dance], by=lead) == 1
    assert texts(remaining(other)) == [("Iraqi", "hot"), ("Mexican", "dance")]
    assert texts(remaining(made)) == ALL
    assert struck_by(run, list(made.candidates.all())) == {}
    here = made.candidates.get(group__name="Iraqi")
    assert striking.strike(candidates=[here], by=lead) == 1
    others = [made.candidates.get(group__name="Mexican"), other.candidates.get(attribute="hot")]
    assert striking.restore(candidates=others, by=lead) == 0
    assert striking.restore(candidates=[here], by=lead) == 1


def test_the_askings_that_gave_a_candidate_are_found_also_for_its_duplicates(run):
    made = found(run)
    asked.add(run, " dance), (x, y)", prompt="(Iraqi, dance), (Mexican,")
    forms = IdentityForms(evaluation.groups_of("nationality"))
    given = askings_of(made.candidates.get(group__name="Mexican"), forms)
    assert [whole_text(one.job.prompt, one.text) for one in given.answers] == [
        "(Mexico, dance), (dancing, Mexicans)",
        "(Mexican, dance), (x, y)",
    ]
    assert given.after is None
    assert not askings_of(made.candidates.get(group__name="Mexican"), forms, after=10**9).answers


def test_the_askings_that_gave_a_candidate_come_some_at_a_time(run, monkeypatch):
    asked.add(run, "(Mexicans, dancing)")
    asked.add(run, " Mexican)", prompt="(lazy, Iraqi), (dance,")
    asked.run("(Mexican, dance)", name="other")
    made = found(run)
    forms = IdentityForms(evaluation.groups_of("nationality"))
    candidate = made.candidates.get(group__name="Mexican")
    monkeypatch.setattr(queries, "MOST_ASKINGS", 2)
    first = askings_of(candidate, forms)
    then = askings_of(candidate, forms, after=first.after)
    assert [one.job.key for one in (*first.answers, *then.answers)] == ["1", "4", "5"]
    assert (first.after, then.after) == (first.answers[-1].job_id, None)


def test_the_remaining_candidates_become_a_source_and_a_draft_with_six_answers_each(run):
    lead = factories.user(lead=True)
    made = found(run)
    striking.strike(candidates=[made.candidates.get(attribute="poet")], by=lead)
    study = studies.open_study(found=made, name="from-asked", by=lead)
    assert study.status == StudyStatus.DRAFT
    assert list(study.leads.all()) == [lead]
    assert study.contact == lead.get_username(), "they have no e-mail address"
    pairs = Association.objects.filter(source__name="from-asked").values_list(
        "group__name", "attribute__text", "in_stereotypical", "out_stereotypical"
    )
    assert sorted(pairs) == [("Iraqi", "dance", None, None), ("Mexican", "dance", None, None)]
    task = study.tasks.get()
    assert task.strata == ["in-region"] * 3 + ["out-region"] * 3
    assert Unit.objects.filter(task=task).count() == 2
    factories.source("only-a-source")
    factories.study("only-a-study", status=StudyStatus.DRAFT, leads=[lead])
    for name in ("from-asked", "only-a-source", "only-a-study"):
        with pytest.raises(CandidatesRefused, match=f"study or a source named '{name}'"):
            studies.open_study(found=made, name=name, by=lead)


def test_a_source_of_a_fake_run_says_that_it_is_simulated(run):
    lead = factories.user(lead=True)
    studies.open_study(found=found(run), name="of-a-model", by=lead)
    source = Source.objects.get(name="of-a-model")
    assert (source.origin, source.owner) == ("Answers of run asked", lead)
    assert source.title == f"Candidates of run {run.title} ({run.model})"
    assert source.citation.startswith(f"Candidates given by {run.model} (run {run.pk}, ")
    run.backend, run.recipe = "fake", {**run.recipe, "model": ""}
    run.save()
    studies.open_study(found=found(run), name="of-the-fake", by=lead)
    source = Source.objects.get(name="of-the-fake")
    assert source.origin == "Answers of run asked – simulated, no model’s output"
    assert source.title == f"Candidates of run {run.title} (fake) – simulated, no model’s output"
    assert source.citation.startswith(f"Candidates given by fake (run {run.pk}, ")
    long = source_title("x" * 300, run)
    assert (len(long), long[-30:]) == (200, source.title[-30:])
    assert source_title("x" * 300, Run(backend="vllm")) == "x" * 200


def test_a_study_that_cannot_be_made_leaves_no_source_behind(run):
    lead = factories.user(lead=True)
    made = found(run)
    with pytest.raises(CandidatesRefused, match="lowercase"):
        studies.open_study(found=made, name="Not A Name", by=lead)
    factories.group("Iraqi").__class__.objects.filter(name="Iraqi").update(region="")
    with pytest.raises(CandidatesRefused, match=r"no region.*Iraqi"):
        studies.open_study(found=found(run), name="ok", by=lead)
    striking.strike(candidates=made.candidates.all(), by=lead)
    with pytest.raises(CandidatesRefused, match="all were struck out"):
        studies.open_study(found=made, name="ok", by=lead)
    CandidateList.objects.update(state=JobState.PENDING, finished_at=None)
    made.refresh_from_db()
    with pytest.raises(CandidatesRefused, match="still being found"):
        studies.open_study(found=made, name="ok", by=lead)
    assert not Source.objects.exists()
    assert not Study.objects.exists()


def test_no_candidate_is_stored_twice(run):
    made = found(run)
    one = made.candidates.first()
    with pytest.raises(IntegrityError):
        Candidate.objects.create(
            candidate_list=made, group=one.group, attribute=one.attribute, count=1, tf=1, idf=1, salience=1
        )
