"""A report as a folder: what is in it, that it needs nothing else, that its numbers are the stored ones."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urlsplit

import pytest

from metrics.dashboards import sentences
from metrics.dashboards.queries.results import read_results
from metrics.models import Score, ScoreRun
from metrics.report import services
from metrics.report.queries import tables
from tests.metrics.report import world

pytestmark = pytest.mark.django_db
VOID = {"meta", "link", "img", "br", "input", "circle", "line", "path"}


class Page(HTMLParser):
    """Reads a page and notes what is wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.headings: list[int] = []
        self.tags: list[str] = []
        self.wrong: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        if self._open:
            self.wrong.append(f"open: {self._open}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if len(found) < len(attrs):
            self.wrong.append(f"doubled attribute: {self.get_starttag_text()}")
        self.tags.append(tag)
        self.attributes.append((tag, found))
        self.addresses += [found[name] or "" for name in ("href", "src") if name in found]
        if "id" in found:
            self.ids.append(found["id"] or "")
        if tag[0] == "h" and tag[1:].isdigit():
            self.headings.append(int(tag[1:]))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.wrong.append(f"end of {tag}")


def pages_of(folder: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}


def test_a_report_is_whole_needs_nothing_else_and_says_nothing_of_anybody(folder, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    study = world.study_with_people()
    world.compute(study, *world.METRICS)
    world.compute(study, "tendency", variant="published")
    made = services.write(study=study, path=folder)
    names = services.file_names(folder)
    assert (made.files, made.runs, made.outdated, made.images) == (len(names), len(world.METRICS) + 1, 0, 1)
    assert {"index.html", "report.css", "report.json", "images/001.jpg"} <= set(names)
    figures = {"consensus", "map-likely", "map-stereotypes", "map-offensiveness", "pull"}
    assert {f"figures/{name}.svg" for name in figures} <= set(names)
    assert {name.partition("/")[0] for name in names} == {
        *("index.html", "report.css", "report.json", "en", "es", "ar", "figures", "images", "tables")
    }
    found = pages_of(folder)
    per_language = {path.name for path in found if path.parent.name == "en"}
    assert all(
        {path.name for path in found if path.parent.name == code} == per_language for code in ("es", "ar")
    )
    for path, page in found.items():
        assert page.wrong == [], path
        assert "script" not in page.tags
        assert "style" not in page.tags
        assert len(set(page.ids)) == len(page.ids)
        assert page.headings[0] == 1
        assert page.headings.count(1) == 1
        assert all(
            later - earlier <= 1 for earlier, later in zip(page.headings, page.headings[1:], strict=False)
        )
        assert {"main", "title"} <= set(page.tags)
        for tag, attributes in page.attributes:
            assert not any(name.startswith("on") or name == "style" for name in attributes), path
            assert tag != "img" or attributes.get("alt"), path
            assert tag != "th" or attributes.get("scope"), path
        for address in page.addresses:
            plain, fragment = urldefrag(address)
            parts = urlsplit(plain)
            if parts.scheme:
                # the text of a licence is the only address elsewhere
                assert address == "https://creativecommons.org/licenses/by/4.0/"
                continue
            assert not address.startswith("/")
            target = (path.parent / plain).resolve() if plain else path
            assert target.is_file(), (path, address)
            assert not fragment or fragment in found[target].ids, (path, address)
    for name in names:
        text = (folder / name).read_bytes()
        assert [needle for needle in world.NEEDLES if needle.encode() in text] == [], name
        if name.endswith((".svg", ".css")):
            assert b"href" not in text
            assert b"url(" not in text.replace(b"url(#", b"")
            assert b"<script" not in text
    # in Spanish as far as the study has it, Arabic from right to left
    spanish, arabic = ((folder / code / "index.html").read_text() for code in ("es", "ar"))
    assert '<html lang="es" dir="ltr">' in spanish
    assert "Un estudio" in spanish
    assert "De qué trata." in spanish
    assert '<html lang="ar" dir="rtl">' in arabic
    assert "¿Qué muestra la imagen?" in (folder / "es" / "asked.html").read_text()
    asked = (folder / "en" / "asked.html").read_text()
    assert all(text in asked for text in ("Look twice.", "A hat.", "What taking part means.", "Care."))
    # three women; but two from Asia and one from elsewhere are few, and where they live is not permitted
    assert asked.count("Woman") == 1
    assert "Asia" not in asked
    assert "Europe" not in asked
    manifest = json.loads((folder / "report.json").read_text())
    assert manifest["files"] == {
        name: one for name, one in world.digests(folder).items() if name != "report.json"
    }
    assert [run["metric"] for run in manifest["runs"]].count("tendency") == 2
    stored = ScoreRun.objects.values_list("metric", "variant", "digest")
    assert {(run["metric"], run["variant"], run["digest"]) for run in manifest["runs"]} == set(stored)


def test_every_number_of_a_table_is_a_stored_score(small, folder):
    services.write(study=small, path=folder)
    for run in ScoreRun.objects.all():
        rows = list(csv.DictReader(io.StringIO((folder / "tables" / f"{run.metric}.csv").read_text())))
        stored = {
            (one.group.name, one.attribute.text if one.attribute else "", one.part, one.name): one
            for one in Score.objects.filter(run=run).select_related("group", "attribute")
        }
        assert len(rows) == len(stored) > 0
        for row in rows:
            one = stored[row["identity"], row["attribute"], row["part"], row["score"]]
            for name in ("value", "low", "high"):
                value = getattr(one, name)
                assert row[name] == ("" if value is None else str(value))
            assert (int(row["n"]), row["k"]) == (one.n, "" if one.k is None else str(one.k))
            assert row["axis"] == "nationality"
        page = (folder / "en" / f"table-{run.metric}.html").read_text()
        for one in stored.values():
            if one.value is not None and 0 < one.value < 1:
                assert f"{one.value:.3f}" in page


def test_every_score_with_an_interval_is_drawn_on_the_axis_of_its_column(small, folder):
    services.write(study=small, path=folder)
    drawn = Score.objects.filter(run__metric="tendency", value__isnull=False).count()
    for name in ("table-tendency", "index"):
        page = (folder / "en" / f"{name}.html").read_text()
        assert page.count('<svg class="mark"') == drawn > 0
        assert page.count('<svg class="mark mark-scale"') == 3


def test_the_first_page_says_what_the_study_s_page_says(small, folder):
    services.write(study=small, path=folder)
    said = [finding.text for finding in sentences.findings(read_results(small))]
    assert said
    page = (folder / "en" / "index.html").read_text().replace("&#x27;", "'").replace("&quot;", '"')
    assert [text for text in said if text not in page] == []


def test_long_tables_are_cut_on_pages_and_whole_in_files(small, folder, monkeypatch):
    monkeypatch.setattr(tables, "MAX_ROWS", 2)
    monkeypatch.setattr(tables, "_BATCH", 2)
    services.write(study=small, path=folder)
    total = (
        Score.objects.filter(run__metric="likelihood").values("group", "attribute", "part").distinct().count()
    )
    page = (folder / "en" / "table-likelihood.html").read_text()
    assert page.partition("<tbody>")[2].count("<tr>") == 2
    assert f"{total - 2} more rows are in the CSV file." in page
    assert f"CSV ({total} rows)" in page
    lines = (folder / "tables" / "likelihood.csv").read_text().splitlines()
    assert len(lines) == 1 + Score.objects.filter(run__metric="likelihood").count()


def test_the_same_scores_give_the_same_bytes(small, tmp_path):
    services.write(study=small, path=tmp_path / "one")
    services.write(study=small, path=tmp_path / "two")
    assert world.digests(tmp_path / "one") == world.digests(tmp_path / "two")
    with services.write_zip(study=small) as archive, zipfile.ZipFile(archive) as packed:
        read = {name.removeprefix("small-report/"): packed.read(name) for name in packed.namelist()}
    assert {name: hashlib.sha256(data).hexdigest() for name, data in read.items()} == world.digests(
        tmp_path / "one"
    )
