"""Every figure that can be drawn of a study: valid, on its page, and what leads nowhere.

test_figure_endings.py writes each of them as every kind of file."""

import gzip
import io
import itertools
import json

import altair
import jsonschema
import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from PIL import Image as Pillow

from annotation.images.files import digest
from annotation.models import IdentityGroup
from metrics.core.charts.figure import SEQUENCE, UnknownFormat, check_format
from metrics.dashboards.figures import FIGURES, draw_figure
from tests import factories
from tests.metrics import cast

MINE = ("map-stereotypes", "map-offensiveness", "annotated-image", "consensus")


@pytest.fixture
def lead(db):
    return factories.user()


@pytest.fixture
def study(lead):
    made = cast.depiction_study(name="pictures", title="Pictures", leads=[lead])
    IdentityGroup.objects.filter(name="Mexican").update(country="Mexico")
    IdentityGroup.objects.filter(name="Nepali").update(country="Nepal")
    task = factories.task(made)
    for text in ("hat", "sombrero"):
        unit = factories.attribute_unit(task, text)
        factories.responses((unit, [5], None) for _ in range(3))
    image = made.tasks.get(kind="depiction").units.get(image__group__name="Mexican", image__index=1).image
    written = io.BytesIO()
    Pillow.new("RGB", (40, 40), "red").save(written, "PNG")
    made.tasks.update(image_set=image.image_set)
    image.reference, image.sha256 = "", digest(written.getvalue())
    image.file.save("a.png", ContentFile(written.getvalue()))
    return made


def valid(spec: dict) -> None:
    """Against the schema that altair carries, which is Vega-Lite's own."""
    schema = altair.vegalite.v6.schema.core.load_schema()
    jsonschema.Draft7Validator(schema).validate(spec)


@pytest.mark.parametrize("name", MINE)
def test_a_figure_is_valid_and_asks_nobody(study, name):
    """Nothing in it is an address elsewhere: no tiles, no fonts, no data."""
    figure = draw_figure(study, name)
    valid(figure.spec)
    assert figure.name == name
    spec = figure.spec
    spec.pop("$schema")
    assert "http://" not in json.dumps(spec)
    assert "https://" not in json.dumps(spec)


def test_the_sequence_of_colours_darkens_all_the_way():
    """So that it reads in grey and with any colour vision."""

    def luminance(colour: str) -> float:
        red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
        return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2

    steps = [luminance(colour) for colour in SEQUENCE]
    assert steps == sorted(steps, reverse=True)
    assert all(first - second > 0.01 for first, second in itertools.pairwise(steps))


def test_the_list_names_every_figure_and_fetches_each_by_itself(client, study, lead):
    client.force_login(lead)
    page = client.get(reverse("figures", args=["pictures"])).text
    for name in FIGURES:
        assert f'hx-get="/studies/pictures/figures/{name}/"' in page
    assert page.count("<noscript>") == len(FIGURES)


def test_a_figure_has_a_page_with_its_picture_files_and_numbers(client, study, lead):
    client.force_login(lead)
    page = client.get(reverse("figure_page", args=["pictures", "consensus"])).text
    for ending in ("svg", "png?download", "pdf?download", "csv?download"):
        assert f'"/studies/pictures/figures/consensus.{ending}"' in page
    assert '<th scope="row">Strongly agree</th>' in page
    assert "<html" in page
    part = client.get(reverse("figure_page", args=["pictures", "consensus"]), headers={"HX-Request": "true"})
    assert "<html" not in part.text
    assert "HX-Request" in part["Vary"]
    # in the list of figures, the section around it has the same title
    assert f'role="region" aria-label="{FIGURES["consensus"].title}: the numbers"' in part.text


def test_a_picture_comes_compressed_and_only_once(client, study, lead):
    client.force_login(lead)
    url = reverse("figure", args=["pictures", "consensus", "svg"])
    plain, compressed = client.get(url), client.get(url, headers={"accept-encoding": "gzip"})
    assert gzip.decompress(compressed.content) == plain.content
    assert len(compressed.content) < len(plain.content) / 3
    again = client.get(url, headers={"accept-encoding": "gzip", "if-none-match": compressed["ETag"]})
    assert again.status_code == 304


def test_options_go_with_the_picture_and_its_files(client, study, lead):
    client.force_login(lead)
    page = client.get("/studies/pictures/figures/map-stereotypes/?show=likely").text
    assert '"/studies/pictures/figures/map-stereotypes.svg?show=likely"' in page
    assert '"/studies/pictures/figures/map-stereotypes.csv?show=likely&amp;download"' in page
    assert '<a href="?show=likely" aria-current="true">likely</a>' in page


def test_a_figure_that_cannot_be_drawn_says_why(client, lead):
    factories.study("empty", leads=[lead])
    client.force_login(lead)
    for name in MINE:
        answer = client.get(reverse("figure_page", args=["empty", name]))
        assert answer.status_code == 200
        assert "&#x27;empty&#x27;" in answer.text
    answer = client.get(reverse("figure_page", args=["empty", "map-stereotypes"]), {"nothing": "1"})
    assert "has no option &#x27;nothing&#x27;" in answer.text
    assert client.get(reverse("figure_page", args=["empty", "nothing"])).status_code == 404


def test_the_specification_is_for_pages_alone(client, study, lead):
    client.force_login(lead)
    answer = client.get(reverse("figure", args=["pictures", "consensus", "json"]))
    assert answer["Content-Type"] == "application/json"
    valid(answer.json())
    with pytest.raises(UnknownFormat):
        check_format("json")


def test_a_long_table_stops_and_says_so(client, study, lead, monkeypatch):
    monkeypatch.setattr("metrics.core.figure_files._MAX_ROWS", 2)
    client.force_login(lead)
    page = client.get(reverse("figure_page", args=["pictures", "consensus"])).text
    assert "3 more rows are in the CSV file." in page
