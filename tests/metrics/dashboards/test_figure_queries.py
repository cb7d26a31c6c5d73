"""The page of every figure asks the database as often of a large study as of a small one."""

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import IdentityGroup
from metrics.dashboards.figures import FIGURES
from tests import checked_charts, factories
from tests.metrics import cast, drawn, pulled

pytestmark = pytest.mark.django_db
MORE = (("Chilean", "Chile"), ("Bolivian", "Bolivia"), ("Cuban", "Cuba"), ("Honduran", "Honduras"))


def grow(study) -> None:
    """More groups, votes, ratings, attributes, images, answers and embeddings of each kind that there is."""
    rated = study.tasks.get(kind="visual_nature")
    shown = study.tasks.get(kind="depiction")
    run = pulled.embedding_run(study)
    for number, (name, country) in enumerate(MORE):
        for text in ("hat", "poor", f"{country.lower()} word"):
            factories.association(
                group_name=name,
                text=text,
                out_votes=(3, 0, 0),
                in_votes=(2, 1, 0),
                ratings=[2, 2, 2],
                mean=2.0,
                from_source=study.stereotype_source,
            )
        IdentityGroup.objects.filter(name=name).update(country=country, region="Latin America")
        unit = factories.attribute_unit(rated, f"{country.lower()} word")
        factories.responses((unit, [value], None) for value in (5, 4, 4))
        pictures = factories.images((1, 2), group_name=name)
        units = factories.page_units(shown, [(picture, cast.TEXTS) for picture in pictures])
        factories.responses((unit, [1, 0, 1, 0, 0], None) for unit in units for _ in range(3))
        pulled.group_images(run, name, region="Latin America", seed=number)


def asked(client, name) -> tuple[int, str]:
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(reverse("figure_page", args=["drawn", name]), drawn.ASKED.get(name, {}))
    assert "<figure" in answer.text
    return len(queries), answer.text


@pytest.mark.usefixtures("undrawn")
def test_no_figure_asks_more_often_when_there_is_more(client, monkeypatch):
    lead = factories.user("lead")
    study = drawn.study_with_every_figure(name="drawn", leads=[lead])
    # nor is it asked here whether charts fit the schema of Vega-Lite
    monkeypatch.setattr("metrics.core.charts.figure._specification", checked_charts.unchecked)
    client.force_login(lead)
    before = {name: asked(client, name) for name in FIGURES}
    grow(study)
    after = {name: asked(client, name) for name in FIGURES}
    assert {name: after[name][0] - before[name][0] for name in after} == dict.fromkeys(before, 0)
    same = {name for name in after if after[name][1] == before[name][1]}
    assert same <= {"annotated-image"}, "what is shown has grown, but for the one image"
