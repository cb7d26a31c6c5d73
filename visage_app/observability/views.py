"""`/metrics` for Prometheus (docs/monitoring.md), protected by METRICS_TOKEN."""

import hmac
import logging
from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from annotation.core.code_version import code_version
from visage_app.observability import requests
from visage_app.observability.queries import metrics as metric_queries

log = logging.getLogger(__name__)


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """404 without METRICS_TOKEN in the settings, 401 without it in the request."""
    if not settings.METRICS_TOKEN:
        raise Http404
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    known = hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
    if scheme.lower() != "bearer" or not known:
        return HttpResponse(
            "Send METRICS_TOKEN as a bearer token.\n",
            status=401,
            content_type="text/plain",
            headers={"WWW-Authenticate": 'Bearer realm="metrics"'},
        )
    registry = CollectorRegistry()
    requests.register(registry)
    registry.register(_DatabaseMetrics())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _DatabaseMetrics(Collector):
    """Metrics from the database. If it is down, the request counts are still reported."""

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("visage_build", "1, labelled with the version.", labels=["version"])
        build.add_metric([code_version()], 1)
        yield build
        found: list[Metric] | None = None
        try:
            found = metric_queries.read_metrics()
        except (OperationalError, InterfaceError) as error:
            log.warning("metrics without the database: %s", error)
        text = "Whether the database answered this scrape; 0: metrics from rows are missing."
        yield GaugeMetricFamily("visage_database_up", text, value=found is not None)
        yield from found or ()
