"""Every figure by the `figure` command and by its address, a whole file of its kind: as SVG and CSV,
and as PNG and PDF where a mark comes for the first time."""

import csv
import io
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from django.core.files.storage import InMemoryStorage
from django.core.management import call_command
from django.db import transaction
from django.urls import reverse
from PIL import Image as Pillow

from annotation.models import Image
from metrics.dashboards.figures import FIGURES, draw_figure
from metrics.dashboards.views import figures as figure_views
from tests import factories
from tests.metrics import drawn

pytestmark = pytest.mark.django_db
MARKS = ("path", "rect", "circle", "line", "image", "text")


@pytest.fixture(scope="module")
def made(django_db_setup, django_db_blocker):
    """The study, which every test here only reads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Image._meta.get_field("file"), "storage", InMemoryStorage())
        with django_db_blocker.unblock():
            outer = transaction.atomic()
            outer.__enter__()
            study = drawn.study_with_every_figure(
                name="drawn", title="Drawn", leads=[factories.user("draws")]
            )
        try:
            yield study
        finally:
            with django_db_blocker.unblock():
                transaction.set_rollback(True)
                outer.__exit__(None, None, None)


def whole(content: bytes, ending: str) -> None:
    """`content` is a file of that kind, with something on it."""
    if ending == "png":
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        with Pillow.open(io.BytesIO(content)) as picture:
            picture.load()
            assert min(picture.size) > 300
            assert len(picture.convert("L").getcolors(100_000)) > 10, "something is on it"
    elif ending == "svg":
        svg = ElementTree.fromstring(content)
        assert svg.tag == "{http://www.w3.org/2000/svg}svg"
        assert sum(part.tag.rpartition("}")[2] in MARKS for part in svg.iter()) > 5
        links = [value for part in svg.iter() for key, value in part.attrib.items() if key.endswith("href")]
        assert [link for link in links if not link.startswith(("data:", "#"))] == [], "a file leads nowhere"
    elif ending == "pdf":
        assert content.startswith(b"%PDF-")
        assert content.rstrip().endswith(b"%%EOF")
        assert b"/Page" in content
    else:
        header, *rows = csv.reader(io.StringIO(content.decode()))
        assert len(set(header)) == len(header) > 2
        assert rows
        assert {len(row) for row in rows} == {len(header)}


ENDINGS = ("png", "svg", "pdf", "csv")
TEXTS = ("svg", "csv")
OF_EACH_MARK = ("map-stereotypes", "annotated-image", "pull", "top-attributes")
"""Together they have every kind of mark. PNG and PDF are made of the SVG: what they can lack is a mark."""


def by_command(name: str, out) -> bytes:
    asked = drawn.ASKED.get(name, {})
    call_command("figure", "drawn", name, out=out, set=[f"{key}={value}" for key, value in asked.items()])
    return out.read_bytes()


def by_page(client, made, name: str, ending: str) -> bytes:
    client.force_login(made.leads.get())
    asked = urlencode(drawn.ASKED.get(name, {}))
    answer = client.get(f"{reverse('figure', args=['drawn', name, ending])}?{asked}")
    assert answer.status_code == 200
    return answer.content


@pytest.mark.parametrize("name", FIGURES)
def test_the_page_gives_whole_files_and_the_command_the_same(
    made, client, tmp_path, capsys, monkeypatch, name
):
    """Command and page draw and write by the same functions: once for each figure, and below for each ending,
    shows that they do."""
    drawings = []

    def drawn_once(study, figure, options):
        # A drawing knows no ending, and to draw takes most of the time. The command draws its own.
        if not drawings:
            drawings.append(draw_figure(study, figure, options))
        assert (study, figure, options) == (made, name, asked)
        return drawings[0]

    asked = {key: str(value) for key, value in drawn.ASKED.get(name, {}).items()}
    monkeypatch.setattr(figure_views, "draw_figure", drawn_once)
    for ending in ENDINGS if name in OF_EACH_MARK else TEXTS:
        content = by_page(client, made, name, ending)
        whole(content, ending)
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert tuple(rows[0]) == drawings[0].columns
    assert len(rows) == len(drawings[0].rows) + 1
    out = tmp_path / f"figure.{ending}"
    assert by_command(name, out) == content
    assert str(out) in capsys.readouterr().out


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_command_goes_by_the_ending(made, client, tmp_path, ending):
    name = next(iter(FIGURES))
    content = by_command(name, tmp_path / f"figure.{ending}")
    whole(content, ending)
    assert content == by_page(client, made, name, ending)
