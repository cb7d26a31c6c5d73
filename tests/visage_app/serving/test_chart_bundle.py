"""The drawing program of the pages: made once of what is installed, whole, and served as any static file."""

from pathlib import Path

import pytest
import vl_convert
from django.contrib.staticfiles.finders import find, get_finders
from django.core.files.base import ContentFile

from visage_app.serving.static_files import ChartBundle, HashedFiles


@pytest.fixture
def made(settings, tmp_path, monkeypatch):
    """How often it was made, in an empty var/."""
    times = []

    def bundle(snippet):
        times.append(snippet)
        return "/* vega */"

    settings.VAR_DIR = tmp_path
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    return times


def test_it_is_found_under_its_name_and_nothing_else_is(made):
    assert find("js/vega.js").endswith("js/vega.js")
    assert ChartBundle().find("js/other.js") == []
    assert ChartBundle().find("js/other.js", find_all=True) == []


def test_it_is_made_once(made, tmp_path):
    for _ in range(3):
        path = ChartBundle().find("js/vega.js")
    assert len(made) == 1
    assert (tmp_path / "made").exists()
    assert Path(path).stat().st_mode & 0o777 == 0o644, "the web server may be of another account"
    assert ChartBundle().find("js/vega.js", find_all=True) == [path]
    assert Path(path).read_text() == "/* vega */"


def test_collectstatic_takes_it_along(made):
    bundles = [finder for finder in get_finders() if isinstance(finder, ChartBundle)]
    assert [(path, storage.exists(path)) for path, storage in bundles[0].list([])] == [("js/vega.js", True)]
    assert bundles[0].check() == []


def test_half_of_it_is_never_served(made, monkeypatch, tmp_path):
    def broken(snippet):
        raise RuntimeError("killed")

    monkeypatch.setattr(vl_convert, "javascript_bundle", broken)
    with pytest.raises(RuntimeError):
        ChartBundle().find("js/vega.js")
    assert not list(tmp_path.rglob("vega.js"))


def test_collectstatic_compresses_what_pages_ask_for(tmp_path):
    """The hashed copies. No page asks for the others, and a browser hardly ever for a source map."""
    served = HashedFiles(location=tmp_path)
    of_htmx = ("django_htmx/htmx-2.min.js", "django_htmx/htmx-4.min.js")
    for name in ("a.js", "a.js.map", *of_htmx):
        served.save(name, ContentFile(b"/* of a page */" * 100))
    paths = {name: (served, name) for name in ("a.js", "a.js.map", *of_htmx)}
    assert all(done is not False for _, _, done in served.post_process(paths))
    compressed = [path.name for path in tmp_path.iterdir() if path.suffix == ".gz"]
    assert compressed == [f"{served.hashed_files['a.js']}.gz"]
    assert of_htmx[0] in served.hashed_files
    assert of_htmx[1] not in served.hashed_files, "it imports what is not there"
