"""Writing a report: which scores are in it, where it may be written, and what the command says."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.core.code_version import code_version
from annotation.models import Response
from metrics.models import ScoreRun
from metrics.report import services
from metrics.report.figures import WANTED
from metrics.report.refused import ReportRefused
from tests.metrics import cast
from tests.metrics.report import world

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("english_alone")]


def test_scores_of_other_answers_are_left_out_and_said_to_be(small, folder):
    world.compute(small, "salience_seegull")
    Response.objects.filter(unit__task__study=small).order_by("pk").first().delete()
    made = services.write(study=small, path=folder)
    assert (made.runs, made.outdated) == (1, 2)
    assert not (folder / "tables" / "tendency.csv").exists()
    assert "not of the present answers" in (folder / "en" / "tables.html").read_text()
    manifest = json.loads((folder / "report.json").read_text())
    why = "it is not of the present answers and rules"
    assert manifest["left_out"] == [
        {"metric": "tendency", "reason": why},
        {"metric": "likelihood", "reason": why},
    ]
    run = ScoreRun.objects.get(metric="salience_seegull")
    finished = run.finished_at.isoformat(timespec="seconds")
    same = ("metric", "version", "variant", "rule", "intervals", "resamples", "seed", "digest")
    assert manifest["runs"] == [
        {
            **{name: getattr(run, name) for name in same},
            "parameters": {"smoothing": "1"},
            "program": run.code_version,
            "finished_at": finished,
            "scores_left_out": 0,
            "table": "tables/salience_seegull.csv",
        }
    ]
    named = ("study", "title", "program", "scores_of", "simulated", "languages", "images")
    assert [manifest[name] for name in named] == [
        *("small", "Small", code_version(), finished, False, ["en"], True)
    ]


def test_a_figure_of_outdated_scores_is_left_out(small, folder, monkeypatch):
    only = tuple(wanted for wanted in WANTED if wanted.name == "map-likely")
    monkeypatch.setattr("metrics.report.figures.WANTED", only)
    Response.objects.filter(unit__task__study=small).order_by("pk").first().delete()
    world.compute(small, "likelihood")
    services.write(study=small, path=folder)
    assert not (folder / "figures").exists()
    assert "not those of the present answers" in (folder / "en" / "index.html").read_text()


def test_a_folder_is_replaced_only_if_nothing_is_lost(small, folder):
    folder.mkdir()
    services.write(study=small, path=folder)
    before = world.digests(folder)
    services.write(study=small, path=folder)
    assert world.digests(folder) == before
    (folder / "CNAME").write_text("mine")
    with pytest.raises(ReportRefused, match="holds 'CNAME'"):
        services.write(study=small, path=folder)
    (folder / "CNAME").unlink()
    manifest = json.loads((folder / "report.json").read_text())
    (folder / "report.json").write_text(json.dumps({**manifest, "study": "another"}))
    with pytest.raises(ReportRefused, match="something else than a report of study 'small'"):
        services.write(study=small, path=folder)
    (folder / "report.json").write_text(json.dumps({**manifest, "program": "another 1.0"}))
    with pytest.raises(ReportRefused, match="something else"):
        services.write(study=small, path=folder)
    (folder / "report.json").unlink()
    with pytest.raises(ReportRefused, match="something else"):
        services.write(study=small, path=folder)
    # no JSON, a list, without its keys, without a program, with a number for one, without a list of files
    changed = [{}, {"program": ""}, {"program": 1}, {"files": 1}]
    texts = [json.dumps({**manifest, **change} if change else change) for change in changed]
    for text in ("[1]", "{", *texts):
        (folder / "report.json").write_text(text)
        with pytest.raises(ReportRefused, match="something else"):
            services.write(study=small, path=folder)
    file = folder / "en" / "index.html"
    with pytest.raises(ReportRefused, match="is a file"):
        services.write(study=small, path=file)
    with pytest.raises(FileNotFoundError, match="Make it first"):
        services.write(study=small, path=folder / "no" / "where")
    with pytest.raises(FileNotFoundError, match="Make it first"):
        services.write(study=small, path=file / "where")


@pytest.mark.parametrize("kind", ["folder", "link", "link to a folder", "in a folder"])
def test_a_folder_with_anything_else_in_it_is_not_replaced(small, folder, tmp_path, kind):
    services.write(study=small, path=folder)
    mine = folder / ("en/mine" if kind == "in a folder" else "mine")
    if kind.startswith("link"):
        (tmp_path / "other").mkdir()
        mine.symlink_to(tmp_path / ("other" if "folder" in kind else "nowhere"))
    else:
        mine.mkdir()
    with pytest.raises(ReportRefused, match="mine"):
        services.write(study=small, path=folder)
    assert mine.is_symlink() or mine.is_dir()


def test_nothing_is_half_written(small, folder, monkeypatch):
    services.write(study=small, path=folder)
    before = world.digests(folder)

    def broken(content, language):
        yield "index.html", "begun"
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(services, "pages", broken)
    with pytest.raises(RuntimeError):
        services.write(study=small, path=folder)
    assert world.digests(folder) == before
    assert [path.name for path in folder.parent.iterdir() if "report" in path.name] == ["report"]


def test_the_command_writes_a_report_or_says_what_is_missing(folder, capsys, monkeypatch):
    monkeypatch.setattr("metrics.report.figures.WANTED", ())
    study = cast.depiction_study(name="small", title="Small")
    with pytest.raises(CommandError, match="--out"):
        call_command("report", "small")
    with pytest.raises(CommandError, match=r"manage\.py report small --scores"):
        call_command("report", "small", out=folder)
    assert not folder.exists()
    monkeypatch.setattr("metrics.report.services.wanted_scores", lambda _: [("tendency", "corrected", {})])
    call_command("report", "small", out=folder, scores=True)
    said = capsys.readouterr().out
    assert "1 of 1 computations" in said
    assert str(folder / "index.html") in said
    world.compute(study, "salience_seegull")
    Response.objects.filter(unit__task__study=study).order_by("pk").first().delete()
    call_command("report", "small", out=folder, no_images=True)
    assert "1 stored computations are left out" in capsys.readouterr().out
    assert "made without images" in (folder / "en" / "images.html").read_text()
