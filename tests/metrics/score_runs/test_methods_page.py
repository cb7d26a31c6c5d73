"""The methods page says what the registry says."""

import pytest
from django.urls import reverse

from metrics.score_runs import registry
from tests import factories

pytestmark = pytest.mark.django_db


def test_leads_and_admins_read_it_and_nobody_else(client):
    lead = factories.user()
    factories.study(leads=[lead])
    url = reverse("methods")
    assert client.get(url).status_code == 302
    for user, expected in ((lead, 200), (factories.user(admin=True), 200), (factories.user(), 404)):
        client.force_login(user)
        assert client.get(url).status_code == expected


def test_every_metric_of_the_registry_is_in_it_with_version_and_reference(client):
    client.force_login(factories.user(admin=True))
    answer = client.get(reverse("methods"))
    assert registry.metrics()
    for metric in registry.metrics():
        for said in (metric.title, metric.definition, metric.variants_note, f"version {metric.version}"):
            assert said in answer.content.decode().replace("&#x27;", "'").replace("&gt;", ">")
        for name, _ in metric.names:
            assert f"<code>{name}</code>" in answer.content.decode()
