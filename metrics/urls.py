from django.urls import path

from metrics.views import (
    agreement,
    attributes,
    compare,
    figures,
    freshness,
    gallery,
    identities,
    methods,
    overview,
    pull,
    quality,
)

urlpatterns = [
    path("methods/", methods.methods, name="methods"),
    path("studies/<slug:name>/overview/", overview.overview, name="overview"),
    path("studies/<slug:name>/overview/live/", overview.live, name="overview_live"),
    path("studies/<slug:name>/agreement/", agreement.agreement, name="agreement"),
    path("studies/<slug:name>/scores/fresh/", freshness.fresh_scores, name="fresh_scores"),
    path("studies/<slug:name>/scores/<int:run_id>/retry/", freshness.retry_scores, name="retry_scores"),
    path("studies/<slug:name>/identities/", identities.identities, name="identities"),
    path("studies/<slug:name>/identities/<int:group_id>/", identities.identity, name="identity"),
    path("studies/<slug:name>/attributes/", attributes.attributes, name="attributes"),
    path("studies/<slug:name>/attributes/<int:attribute_id>/", attributes.attribute, name="attribute"),
    path("studies/<slug:name>/gallery/", gallery.gallery, name="gallery"),
    path("studies/<slug:name>/compare/", compare.compare, name="compare"),
    path("studies/<slug:name>/quality/", quality.quality, name="quality"),
    path("studies/<slug:name>/quality/table.csv", quality.quality_csv, name="quality_csv"),
    path("studies/<slug:name>/pull/", pull.pull, name="pull"),
    path("studies/<slug:name>/figures/", figures.list_of_figures, name="figures"),
    path("studies/<slug:name>/figures/<slug:figure>/", figures.figure_page, name="figure_page"),
    path("studies/<slug:name>/figures/<slug:figure>.<slug:fmt>", figures.figure, name="figure"),
]
