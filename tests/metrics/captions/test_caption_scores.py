"""From captions and votes to scores: planted counts come out (PROTOCOL §8)."""

import io
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Attribute, IdentityGroup, Image, ImageSet, Pool, Response, TaskKind
from generation.models import Caption, Run, RunKind, RunState
from metrics.captions import data
from metrics.captions.scores import caption_agreement, findings
from metrics.core.charts.figure import render_figure
from metrics.dashboards.figures import draw_figure
from metrics.score_runs import registry
from metrics.score_runs import services as score_runs
from metrics.score_runs.evaluation import evaluate, inputs_digest
from tests import factories
from tests.generation.plans.world import FAKE
from tests.metrics import captioned, cast

pytestmark = pytest.mark.django_db


def evaluated(study, metric, *, resamples=0, seed=0, **parameters):
    return evaluate(
        study=study, metric=metric, variant="corrected", resamples=resamples, seed=seed, parameters=parameters
    )


def scored(study, metric, **parameters):
    """{(group, attribute, part): (value, k, n)} of the metric's first score."""
    name = registry.get(metric).names[0][0]
    rows = evaluated(study, metric, **parameters).rows
    return {
        (row.group, row.attribute, row.part): (row.value, row.k, row.n) for row in rows if row.name == name
    }


def idf(df, documents=8):
    return math.log((1 + documents) / (1 + df)) + 1


class TestFindings:
    def test_the_share_of_captions_that_hold_an_attribute(self):
        assert scored(captioned.captioned_study(), "caption_findings") == {
            ("Mexican", "hat", ""): (4 / 6, 4, 6),
            ("Mexican", "sombrero", ""): (1 / 6, 1, 6),
            ("Nepali", "hat", ""): (1 / 2, 1, 2),
            ("Nepali", "kind", ""): (1 / 2, 1, 2),
        }

    def test_only_the_best_captions_are_read_if_so_asked(self):
        assert scored(captioned.captioned_study(), "caption_findings", top="1") == {
            ("Mexican", "hat", ""): (1.0, 2, 2),
            ("Nepali", "hat", ""): (1 / 2, 1, 2),
            ("Nepali", "kind", ""): (1 / 2, 1, 2),
        }

    def test_only_visual_attributes_are_looked_for_if_so_asked(self):
        study = captioned.captioned_study()
        found = scored(study, "caption_findings", attributes="visual")
        assert {attribute for _, attribute, _ in found} == {"hat", "sombrero"}
        # asked once more: an attribute must be visual each time
        again = factories.attribute_unit(study.tasks.get(kind=TaskKind.VISUAL_NATURE), "hat", repeat=1)
        factories.responses((again, [1], None) for _ in range(3))
        found = scored(study, "caption_findings", attributes="visual")
        assert {attribute for _, attribute, _ in found} == {"sombrero"}

    def test_intervals_hold_their_value_and_images_that_all_say_it_leave_no_doubt(self):
        study = cast.depiction_study()
        captioned.of_study(
            study,
            {("Mexican", 1): ["a hat", "poor"], ("Mexican", 2): ["hats", "a hat"], ("Nepali", 1): ["x"]},
        )
        rows = {row.attribute: row for row in evaluated(study, "caption_findings", resamples=200).rows}
        assert (rows["hat"].low, rows["hat"].value, rows["hat"].high) == (0.5, 0.75, 1.0)
        assert (rows["poor"].low, rows["poor"].value, rows["poor"].high) == (0.0, 0.25, 0.5)
        again = {row.attribute: row for row in evaluated(study, "caption_findings", resamples=200).rows}
        assert rows == again


class TestAttributesAsWritten:
    """Lemmas serve to find attributes; what is shown is the catalogue's text (PROTOCOL §8)."""

    WRITTEN = ("good at running", "hat", "hats", "less civilized", "poorly educated")
    LEMMAS = ("good at run", "less civilize", "poorly educate")

    @pytest.fixture
    def study(self):
        study = cast.depiction_study(name="written", leads=[factories.user()])
        task = factories.task(study)
        for text in self.WRITTEN:
            factories.attribute_unit(task, text)
        told = ["They run and are good at running in hats", "poorly educated, less civilized"]
        captioned.of_study(study, {("Mexican", 1): told})
        return study

    @pytest.mark.parametrize("metric", ["caption_findings", "salience"])
    def test_each_attribute_of_the_same_lemmas_has_a_score_under_its_own_text(self, study, metric):
        found = scored(study, metric)
        assert tuple(sorted(attribute for _, attribute, _ in found)) == self.WRITTEN
        hat, hats = (found["Mexican", text, ""] for text in ("hat", "hats"))
        assert hat == hats

    def test_no_lemma_reaches_a_figure_a_file_a_page_or_a_program(self, study, client):
        run = score_runs.request(study=study, metric="salience", variant="corrected", parameters={})
        score_runs.compute(run_id=run.pk)
        out = io.StringIO()
        call_command("scores", "written", "--metric", "salience", "--format", "csv", stdout=out)
        figure = draw_figure(study, "top-attributes", {"group": "Mexican", "top": "20"})
        client.force_login(study.leads.get())
        shown = {
            "command": out.getvalue(),
            "specification": json.dumps(figure.spec),
            "words of the figure": figure.alt,
            "file": render_figure(figure, "csv").decode(),
            "page": client.get(
                "/studies/written/figures/top-attributes/?group=Mexican&top=20"
            ).content.decode(),
            "program": client.get("/api/v1/studies/written/scores?metric=salience").content.decode(),
        }
        for where, text in shown.items():
            for attribute in self.WRITTEN:
                assert attribute in text, where
            for lemma in self.LEMMAS:
                assert not re.search(rf"\b{lemma}\b", text), where

    def test_the_methods_say_what_becomes_of_lemmas_and_which_were_there_before(self):
        for metric in ("caption_findings", "salience", "caption_agreement"):
            assert "Lemmas are used for matching only and never shown" in registry.get(metric).caveats
        assert "authors of SeeGULL v2 lemmatised many of them" in registry.get("salience_seegull").caveats


class TestSalience:
    def test_the_formula_of_the_protocol(self):
        """Among 4 attributes; 8 captions, of which 5 hold 'hat', 1 'sombrero' and 1 'kind'."""
        found = scored(captioned.captioned_study(), "salience")
        assert {key: (k, n) for key, (_, k, n) in found.items()} == {
            ("Mexican", "hat", ""): (5, 6),
            ("Mexican", "sombrero", ""): (1, 6),
            ("Nepali", "hat", ""): (1, 2),
            ("Nepali", "kind", ""): (1, 2),
        }
        assert {key[:2]: pytest.approx(value) for key, (value, _, _) in found.items()} == {
            ("Mexican", "hat"): 6 / 10 * idf(5),
            ("Mexican", "sombrero"): 2 / 10 * idf(1),
            ("Nepali", "hat"): 2 / 6 * idf(5),
            ("Nepali", "kind"): 2 / 6 * idf(1),
        }

    def test_without_smoothing(self):
        found = scored(captioned.captioned_study(), "salience", smoothing="0")
        assert found["Mexican", "hat", ""][0] == pytest.approx(5 / 6 * idf(5))

    def test_of_visual_attributes_alone(self):
        """Two are looked for: 'kind' no longer takes part."""
        found = scored(captioned.captioned_study(), "salience", attributes="visual")
        assert found["Nepali", "hat", ""] == (pytest.approx(2 / 3 * idf(5)), 1, 1)

    def test_intervals_draw_images_and_hold_their_value(self):
        rows = evaluated(captioned.captioned_study(), "salience", resamples=300, seed=4).rows
        assert all(row.low <= row.value <= row.high for row in rows)
        assert all(row.low < row.high for row in rows)
        assert {row.undefined for row in rows} == {0}

    def test_a_resample_is_the_score_of_the_images_drawn(self, monkeypatch):
        """Every draw takes the first Mexican image twice and the Nepali one once."""
        monkeypatch.setattr(
            findings,
            "_weights",
            lambda inputs, frame: np.array([[2, 0] if frame.group == "Mexican" else [1]] * 100),
        )
        study = cast.depiction_study()
        said = {("Mexican", 1): ["a hat, a hat", "x"], ("Mexican", 2): ["kind"], ("Nepali", 1): ["a hat"]}
        captioned.of_study(study, said)
        rows = evaluated(study, "salience", resamples=100).rows
        hat = next(row for row in rows if (row.group, row.attribute) == ("Mexican", "hat"))
        # as it is: 2 of 3 occurrences, in 2 of 4 captions; drawn: 4 of 4, in 3 of 5
        assert hat.value == pytest.approx(3 / 7 * idf(2, 4))
        assert hat.high == pytest.approx(5 / 8 * idf(3, 5))
        assert hat.low == hat.value


class TestAgreement:
    def test_with_and_without_the_visual_reference(self):
        assert scored(captioned.captioned_study(), "caption_agreement") == {
            ("Mexican", "", ""): (1.0, 2, 2),
            ("Mexican", "", "visual attributes"): (1.0, 2, 2),
            ("Nepali", "", ""): (0.5, 1, 2),
            ("Nepali", "", "visual attributes"): (0.0, 0, 1),
            ("", "", ""): (0.75, 3, 4),
            ("", "", "visual attributes"): (pytest.approx(2 / 3), 2, 3),
        }

    def test_what_people_were_never_shown_is_in_no_share_and_counted(self):
        study = captioned.captioned_study()
        factories.association(text="street", from_source=study.stereotype_source)
        found = scored(study, "caption_agreement")
        assert found["Mexican", "", ""] == (1.0, 2, 2)
        missed = {
            (row.group, row.part): (row.value, row.n)
            for row in evaluated(study, "caption_agreement").rows
            if row.name == "unjudged"
        }
        assert missed["Mexican", ""] == (1, 3)
        assert missed["Mexican", "visual attributes"] == (0, 2)
        assert missed["", ""] == (1, 5)

    def test_a_study_that_never_asked_what_is_visual_has_the_one_part(self):
        study = cast.depiction_study()
        captioned.of_study(study, captioned.SAID)
        assert {part for _, _, part in scored(study, "caption_agreement")} == {""}

    def test_a_group_whose_captions_name_nothing_shown_has_no_share(self):
        study = cast.depiction_study()
        captioned.of_study(study, {("Nepali", 1): ["a mountain"], ("Mexican", 1): ["a hat"]})
        found = scored(study, "caption_agreement")
        assert found["Nepali", "", ""] == (None, 0, 0)
        assert found["", "", ""] == (1.0, 1, 1)

    def test_intervals_of_groups_and_of_the_whole(self):
        rows = evaluated(captioned.captioned_study(), "caption_agreement", resamples=300, seed=1).rows
        shares = [row for row in rows if row.name == "agreement"]
        assert all(row.low <= row.value <= row.high for row in shares)
        whole = next(row for row in shares if not row.group and not row.part)
        assert whole.low < whole.high
        assert all(row.undefined is not None for row in shares)

    def test_people_who_are_known_are_drawn_for_all_groups_at_once(self, monkeypatch):
        """If only the third annotator is ever drawn, who selected nothing, every resample of the whole is the
        same; those of the groups, which draw their own annotators, are not."""

        def only_the_third(inputs, groups):
            known = dict.fromkeys(one for group in groups for one in group.annotators.tolist())
            return {one: np.full(inputs.resamples, 3 * (place == 2)) for place, one in enumerate(known)}

        monkeypatch.setattr(caption_agreement, "_known_annotator_weights", only_the_third)
        rows = evaluated(captioned.captioned_study(), "caption_agreement", resamples=100).rows
        found = {row.group: row for row in rows if row.name == "agreement" and not row.part}
        assert (found[""].low, found[""].high) == (0.75, 0.75)
        assert found["Mexican"].low < found["Mexican"].high


class TestWhichCaptions:
    def test_the_newest_finished_run_is_read_or_the_one_that_is_named(self):
        study = cast.depiction_study()
        older = captioned.of_study(study, {("Mexican", 1): ["a hat"]})
        captioned.of_study(study, {("Mexican", 1): ["poor"]})
        captioned.of_study(study, {("Mexican", 1): ["kind"]}, state=RunState.CANCELLED)
        assert {attribute for _, attribute, _ in scored(study, "caption_findings")} == {"poor"}
        named = scored(study, "caption_findings", run=str(older.pk))
        assert {attribute for _, attribute, _ in named} == {"hat"}

    def test_only_finished_captions_of_the_study_s_own_images_can_be_named(self):
        study = cast.depiction_study()
        said = {("Mexican", 1): ["a hat"]}
        cancelled = captioned.of_study(study, said, state=RunState.CANCELLED)
        embedded = captioned.of_study(study, said)
        Run.objects.filter(pk=embedded.pk).update(kind=RunKind.EMBEDDINGS)
        apart = factories.image(image_set=factories.image_set("apart"), index=9)
        for run in (cancelled, embedded, captioned.caption_run({apart.pk: ["a hat"]})):
            with pytest.raises(ValueError, match=f"'{run.pk}' is no finished captioning run"):
                evaluated(study, "caption_findings", run=str(run.pk))

    def test_captions_of_images_that_the_study_does_not_show_are_not_read(self):
        study = cast.depiction_study()
        run = captioned.of_study(study, {("Mexican", 1): ["a hat"]})
        apart = factories.image(index=9)
        Caption.objects.create(run=run, image=apart, rank=1, text="a poor hat")
        factories.page_unit(factories.task(kind=TaskKind.DEPICTION), picture=apart)
        assert scored(study, "caption_findings") == {("Mexican", "hat", ""): (1.0, 1, 1)}

    def test_without_captions_there_is_nothing_and_it_says_so(self):
        study = cast.depiction_study()
        for metric in ("caption_findings", "salience", "caption_agreement"):
            found = evaluated(study, metric, resamples=100)
            assert found.rows == ()
            assert found.rule == "no captions: nothing was captioned yet"

    def test_the_rule_names_the_captions(self):
        study = captioned.captioned_study()
        run = Run.objects.get()
        told = evaluated(study, "salience", top="7").rule
        assert told == f"captions: the best 7 of each image by run {run.pk} (fake, test-set)"

    def test_of_each_image_set_the_newest_run_is_read(self):
        study = captioned.captioned_study()
        other = factories.image(image_set=factories.image_set("other"), index=9)
        factories.page_unit(study.tasks.get(kind=TaskKind.DEPICTION), picture=other)
        first = Run.objects.get()
        second = captioned.caption_run({other.pk: ["a hat"]})
        assert data.caption_runs(study) == [second, first]
        told = data.describe_captions(study, {"run": "newest", "top": "7"})
        assert told.endswith(f"by run {first.pk} (fake, test-set) and run {second.pk} (fake, other)")

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"run": "99999"}, r"'99999' is no finished captioning run .* There are: \d+, or 'newest'"),
            ({"top": "0"}, "top is '0': how many captions of an image are read, from 1"),
            ({"top": "few"}, "top is 'few'"),
            ({"attributes": "some"}, "attributes is 'some': choose all or visual"),
            ({"smoothing": "-1"}, "smoothing is '-1': a number of at least 0"),
            ({"smoothing": "nan"}, "smoothing is 'nan'"),
            ({"smoothing": "much"}, "smoothing is 'much'"),
        ],
    )
    def test_a_parameter_that_cannot_be_is_refused_with_the_cure(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            evaluated(captioned.captioned_study(), "salience", **parameters)

    def test_visual_attributes_of_a_study_that_never_asked(self):
        study = cast.depiction_study(name="silent")
        with pytest.raises(ValueError, match=r"Nobody rated the visual nature .* choose attributes=all"):
            evaluated(study, "salience", attributes="visual")

    def test_a_run_named_where_nothing_was_captioned(self):
        study = cast.depiction_study(name="silent")
        with pytest.raises(ValueError, match=r"Make one: manage\.py caption silent"):
            evaluated(study, "salience", run="1")


class TestDigest:
    def digest(self, study, metric="salience", **parameters):
        return inputs_digest(study, registry.get(metric), parameters)

    def test_it_changes_with_the_captions_read_and_with_nothing_else(self):
        study = captioned.captioned_study()
        before = {name: self.digest(study, name) for name in ("salience", "caption_findings", "tendency")}
        run = Run.objects.get()
        Caption.objects.create(run=run, image=Image.objects.first(), rank=60, text="beyond the best fifty")
        Caption.objects.create(run=run, image=factories.image(index=9), rank=1, text="of no page")
        assert self.digest(study) == before["salience"]
        Caption.objects.create(run=run, image=Image.objects.first(), rank=9, text="a hat")
        assert self.digest(study) != before["salience"]
        assert self.digest(study, "caption_findings") != before["caption_findings"]
        assert self.digest(study, "tendency") == before["tendency"]

    def test_a_newer_run_an_attribute_and_another_parameter_change_it(self):
        study = captioned.captioned_study()
        seen = [self.digest(study), self.digest(study, top="3"), self.digest(study, smoothing="2")]
        captioned.of_study(study, {("Mexican", 1): ["a hat"]})
        seen.append(self.digest(study))
        factories.association(text="street", from_source=study.stereotype_source)
        seen.append(self.digest(study))
        Response.objects.filter(unit__task__kind=TaskKind.VISUAL_NATURE).update(current=False)
        seen.append(self.digest(study))
        assert len(set(seen)) == 6

    def test_an_answer_changes_that_of_the_agreement_alone(self):
        study = captioned.captioned_study()
        before = {name: self.digest(study, name) for name in ("salience", "caption_agreement")}
        task = study.tasks.get(kind=TaskKind.DEPICTION)
        factories.response(factories.page_unit(task, picture=Image.objects.first(), page=2))
        assert self.digest(study) == before["salience"]
        assert self.digest(study, "caption_agreement") != before["caption_agreement"]

    def test_votes_change_that_of_seegull(self):
        study = cast.depiction_study()
        before = self.digest(study, "salience_seegull")
        association = study.stereotype_source.associations.get(attribute__text="hat")
        association.out_stereotypical = 3
        association.save()
        assert self.digest(study, "salience_seegull") != before


def test_the_number_of_queries_does_not_grow():
    def queries(study):
        with CaptureQueriesContext(
            connection,
        ) as seen:
            evaluated(study, "salience", resamples=100)
        return len(seen)

    study = captioned.captioned_study()
    before = queries(study)
    task = study.tasks.get(kind=TaskKind.DEPICTION)
    said = {}
    for name in ("Indian", "Welsh", "Thai"):
        for index in (1, 2, 3):
            picture = factories.image(group_name=name, index=index)
            factories.page_unit(task, picture=picture)
            said[name, index] = ["a hat", "a kind sombrero"]
    captioned.of_study(study, said)
    assert queries(study) == before


class TestSeegull:
    @pytest.fixture
    def study(self):
        """Two regions. Out-region votes: threshold 2."""
        source = factories.source("votes")
        for group, region, text, votes in (
            ("Mexican", "Latin America", "sombrero", 3),
            ("Mexican", "Latin America", "poor", 2),
            ("Mexican", "Latin America", "kind", 1),
            ("Peruvian", "Latin America", "poor", 3),
            ("Indian", "South Asia", "poor", 2),
            ("Indian", "South Asia", "sari", 2),
            ("Atlantean", "", "wet", 2),
        ):
            factories.group(group, region=region)
            factories.association(
                group_name=group, text=text, out_votes=(votes, 0, 0), in_votes=(0, 3, 0), from_source=source
            )
        return factories.study(stereotype_source=source, stereotype_pool=Pool.OUT_REGION)

    def test_a_group_in_its_region(self, study):
        IdentityGroup.objects.filter(name="Indian").update(name="Nepali")
        found = scored(study, "salience_seegull")
        of_groups = {key[:2]: value for key, value in found.items() if key[0]}
        assert list(of_groups) == sorted(of_groups)
        assert of_groups == {
            # 2 stereotypes and 2 groups in the region; 'kind' does not pass
            ("Mexican", "sombrero"): (pytest.approx(4 / 7 * idf(1, 2)), 3, 5),
            ("Mexican", "poor"): (pytest.approx(3 / 7 * idf(2, 2)), 2, 5),
            ("Peruvian", "poor"): (pytest.approx(4 / 5 * idf(2, 2)), 3, 3),
            ("Nepali", "poor"): (pytest.approx(3 / 6 * idf(1, 1)), 2, 4),
            ("Nepali", "sari"): (pytest.approx(3 / 6 * idf(1, 1)), 2, 4),
            ("Atlantean", "wet"): (pytest.approx(1.0), 2, 2),
        }

    def test_a_region_among_regions(self, study):
        rows = [row for row in evaluated(study, "salience_seegull").rows if row.name == "salience_region"]
        assert {(row.part, row.attribute): (row.value, row.k, row.n) for row in rows} == {
            ("region: Latin America", "poor"): (pytest.approx(6 / 11 * idf(2, 2)), 5, 8),
            ("region: Latin America", "sombrero"): (pytest.approx(4 / 11 * idf(1, 2)), 3, 8),
            ("region: South Asia", "poor"): (pytest.approx(3 / 7 * idf(2, 2)), 2, 4),
            ("region: South Asia", "sari"): (pytest.approx(3 / 7 * idf(1, 2)), 2, 4),
        }

    def test_a_single_region_stands_out_from_nothing(self, study):
        study.stereotype_source.associations.filter(group__name="Indian").delete()
        assert {row.name for row in evaluated(study, "salience_seegull").rows} == {"salience"}

    def test_the_pool_is_that_of_the_rule(self, study):
        study.stereotype_pool = Pool.IN_REGION
        study.save()
        assert evaluated(study, "salience_seegull").rows == ()

    def test_a_study_without_a_source(self):
        assert evaluated(factories.study(), "salience_seegull").rows == ()


def command(*arguments) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_from_fake_captions_to_a_score_and_a_figure(tmp_path):
    """The whole path: pictures and captions by the fake backends, the metric, the figure as a file."""
    for name in ("Mexican", "Nepali"):
        factories.group(name)
    command("generate", "drawn", "--groups", "Mexican", "Nepali", *FAKE, "--yes")
    pictures = ImageSet.objects.get(name="drawn")
    study = factories.study("path")
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=pictures)
    for picture in Image.objects.filter(image_set=pictures).order_by("group__name", "index"):
        unit = factories.page_unit(task, picture=picture, texts=("hat", "tall", "scarf", "sari"))
        factories.response(unit, values=[1, 0, 0, 0, 0])
    with pytest.raises(CommandError, match="no finished captioning run"):
        command("scores", "path", "--metric", "salience", "--set", "run=1")
    command("caption", "path", "--backend", "fake", "--count", "20", "--yes")
    assert Caption.objects.count() == 20 * Image.objects.count()

    told = json.loads(
        command("scores", "path", "--metric", "salience", "--resamples", "100", "--format", "json")
    )
    assert told["rule"].startswith("captions: the best 50 of each image by run")
    rows = {(row["identity"], row["attribute"]): row for row in told["rows"]}
    for (group, attribute), row in rows.items():
        words = Caption.objects.filter(image__group__name=group).values_list("text", flat=True)
        assert row["k"] == sum(text.replace(",", "").split().count(attribute) for text in words) > 0
        assert row["low"] <= row["value"] <= row["high"]
    assert {attribute for _, attribute in rows} == {"hat", "tall", "scarf"}

    agreed = json.loads(
        command("scores", "path", "--metric", "caption_agreement", "--resamples", "0", "--format", "json")
    )
    whole = next(row for row in agreed["rows"] if not row["identity"] and row["score"] == "agreement")
    assert (whole["k"], whole["n"]) == (2, 6)

    out = tmp_path / "top.svg"
    command("figure", "path", "top-attributes", "--out", str(out))
    assert "scarf" in Path(out).read_text()
    assert draw_figure(study, "top-attributes").columns[0] == "identity"
    assert Attribute.objects.count() == 4
