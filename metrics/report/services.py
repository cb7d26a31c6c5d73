"""Making a report: a folder of static pages, complete or not at all (docs/report.md)."""

import hashlib
import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from django.conf import settings
from django.contrib.staticfiles import finders

from annotation.core.code_version import PACKAGE, code_version
from annotation.export_files import work_folder
from annotation.exports.packing import File, file_content, replacing_folder, zip_stream
from annotation.models import Study, TaskKind
from metrics.core.charts.figure import render_figure
from metrics.core.figure_files import svg_size
from metrics.core.fingerprints import snapshot
from metrics.dashboards.queries.results import read_results
from metrics.models import ScoreRun
from metrics.report.copies import copy_images
from metrics.report.figures import draw_figures
from metrics.report.pages import Content, first_page, pages, shown_figure
from metrics.report.queries.few import Few
from metrics.report.queries.people import read_people
from metrics.report.queries.pictures import picture_sets
from metrics.report.queries.runs import Runs, stored_runs
from metrics.report.queries.tables import csv_pieces, read_table
from metrics.report.queries.wanted import wanted_scores
from metrics.report.refused import FEW, FOLDER, NO_SCORES, OUTDATED, ReportRefused
from metrics.report.results import shown_results
from metrics.score_runs import services as score_runs

MANIFEST = "report.json"
"""Names the study, the score runs and every file; it also marks the folder as a report."""
_STYLE = "metrics/report.css"
REASONS = {FEW: "fewer than three people answered", OUTDATED: "it is not of the present answers and rules"}


@dataclass(frozen=True)
class Made:
    """A report that was made: the number of its files, of score runs in it, of runs that are left out because
    they are out of date, and of images."""

    files: int
    runs: int
    outdated: int
    images: int


def write(*, study: Study, path: Path, with_images: bool = True) -> Made:
    """Make the folder `path`, complete or not at all. It may exist if it is empty or holds nothing but an
    earlier report of the same study, which is replaced.

    Raises ReportRefused, and FileNotFoundError if the folder above does not exist.
    """
    path = path.resolve()
    _check_target(study, path)
    with replacing_folder(path) as folder:
        return build(study=study, folder=folder, with_images=with_images)


def write_zip(*, study: Study, with_images: bool = True) -> IO[bytes]:
    """A report as a zip archive: an open file without a name, which is gone once it is closed. Raises
    ReportRefused."""
    with tempfile.TemporaryDirectory(dir=work_folder(), prefix="report-") as unfinished:
        root = Path(unfinished, f"{study.name}-report")
        build(study=study, folder=root, with_images=with_images)
        archive = tempfile.TemporaryFile(dir=work_folder())  # noqa: SIM115
        for piece in zip_stream(
            File(f"{root.name}/{name}", file_content(root / name)) for name in file_names(root)
        ):
            archive.write(piece)
    archive.seek(0)
    return archive


def request_scores(study: Study) -> list[ScoreRun]:
    """Ask for all scores that a report of `study` can show, of the present answers; some may be finished
    already. Call tasks.enqueue for each, or compute them. What lacks its inputs is left out."""
    found = []
    for metric, variant, parameters in wanted_scores(study):
        try:
            found.append(
                score_runs.request(study=study, metric=metric, variant=variant, parameters=parameters)
            )
        except ValueError:  # no embeddings, for example
            continue
    return found


def build(*, study: Study, folder: Path, with_images: bool) -> Made:
    """Write all files to the new folder `folder`, from one state of the database. Raises ReportRefused."""
    with snapshot():
        runs = stored_runs(study)
        check_runs(study, runs)
        folder.mkdir()
        tables = [read_table(stored) for stored in runs.shown]
        for stored in runs.shown:
            _write(folder / "tables" / f"{stored.slug}.csv", csv_pieces(stored))
        drawn, not_drawn = draw_figures(study, runs)
        figures = []
        for one in drawn:
            svg = render_figure(one.figure, "svg")
            _write(folder / one.file, [svg])
            figures.append(shown_figure(one, svg_size(svg)))
        few = runs.few.get(TaskKind.DEPICTION, Few())
        found_sets = picture_sets(study, few_groups=few.groups)
        sets = copy_images(found_sets, folder, copy=with_images)
        content = Content(
            study=study,
            runs=runs,
            results=shown_results(read_results(study), runs),
            tables=tables,
            figures=figures,
            not_drawn=not_drawn,
            people=read_people(study),
            sets=sets,
            with_images=with_images,
        )
        for language, _ in settings.LANGUAGES:
            for name, text in pages(content, language):
                _write(folder / language / name, [text.encode()])
        _write(folder / "index.html", [first_page(content).encode()])
    _write(folder / "report.css", [_style()])
    manifest = json.dumps(_manifest(content, folder), ensure_ascii=False, indent=2)
    _write(folder / MANIFEST, [f"{manifest}\n".encode()])
    images = sum(len(one.pictures) for one in sets)
    return Made(len(file_names(folder)), len(runs.shown), len(runs.outdated), images)


def check_runs(study: Study, runs: Runs) -> None:
    """Raise ReportRefused if there is nothing to report, with the reason and the cure."""
    if runs.shown:
        return
    if runs.outdated:
        raise ReportRefused(
            f"The stored scores of study '{study.name}' are not those of the present answers and rules. "
            f"Compute them again: manage.py report {study.name} --scores",
            reason=OUTDATED,
        )
    if runs.left_out:
        raise ReportRefused(
            f"Fewer than three people have answered in study '{study.name}', so its scores could be "
            "somebody's own answers. Make the report when more have.",
            reason=FEW,
        )
    raise ReportRefused(
        f"Study '{study.name}' has no stored scores yet, and a report computes none. Open its pages, or "
        f"compute them first: manage.py report {study.name} --scores",
        reason=NO_SCORES,
    )


def _check_target(study: Study, path: Path) -> None:
    """Raise ReportRefused if a report must not be written there, and FileNotFoundError if there is no folder
    above."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}. Make it first.")
    if not path.exists():
        return
    if not path.is_dir():
        raise ReportRefused(f"{path} is a file. Name a new folder.", reason=FOLDER)
    there = {entry.relative_to(path).as_posix() for entry in path.rglob("*")}
    if not there:
        return
    listed = _listed_files(study, path)
    if listed is None:
        raise ReportRefused(
            f"{path} holds something else than a report of study '{study.name}', so it is not replaced. Name "
            "another folder, or empty it.",
            reason=FOLDER,
        )
    folders = {folder.as_posix() for name in listed for folder in PurePosixPath(name).parents}
    links = {name for name in there if (path / name).is_symlink()}
    if others := sorted(there - listed - folders | links):
        raise ReportRefused(
            f"{path} holds '{others[0]}', which is not a part of the report and would be lost. Move it, or "
            "name another folder.",
            reason=FOLDER,
        )


def _listed_files(study: Study, path: Path) -> set[str] | None:
    """The files of the report in a folder, by its own list; None if it holds no report of `study`."""
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        if manifest["study"] != study.name or manifest["program"].split()[0] != PACKAGE:
            return None
        return {MANIFEST, *manifest["files"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None


def file_names(folder: Path) -> list[str]:
    """The files in a folder and below it, sorted, with slashes."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def _manifest(content: Content, folder: Path) -> dict[str, Any]:
    """What `report.json` says. Without dates of its own: the same stored scores give the same file."""
    study, newest = content.study, content.runs.newest
    return {
        "study": study.name,
        "title": study.title,
        "program": code_version(),
        "scores_of": _moment(newest),
        "simulated": content.results.simulated,
        "languages": [code for code, _ in settings.LANGUAGES],
        "images": content.with_images,
        "runs": [
            {
                "metric": stored.metric.name,
                "version": stored.run.version,
                "variant": stored.run.variant,
                "parameters": json.loads(stored.run.parameters),
                "rule": stored.run.rule,
                "intervals": stored.run.intervals,
                "resamples": stored.run.resamples,
                "seed": stored.run.seed,
                "program": stored.run.code_version,
                "digest": stored.run.digest,
                "finished_at": _moment(stored.run),
                "scores_left_out": stored.n_left_out,
                "table": f"tables/{stored.slug}.csv",
            }
            for stored in content.runs.shown
        ],
        "left_out": [
            {"metric": one.metric.name, "reason": REASONS[one.reason]} for one in content.runs.left_out
        ],
        "files": {
            name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in file_names(folder)
        },
    }


def _moment(run: ScoreRun) -> str:
    assert run.finished_at is not None  # only finished runs are read
    return run.finished_at.isoformat(timespec="seconds")


def _style() -> bytes:
    found = finders.find(_STYLE)
    if found is None:
        raise FileNotFoundError(f"The program lacks its file {_STYLE}.")
    return Path(found).read_bytes()


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.writelines(pieces)
