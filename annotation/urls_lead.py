"""Addresses of the lead's pages."""

from django.urls import path

from annotation.audit import views as audit_views
from annotation.catalogue import views as catalogue_views
from annotation.imports import views as imports_views
from annotation.participation.views import people
from annotation.releases import views as releases_views
from annotation.setup.views import gold, wizard
from annotation.webhooks import views as webhooks_views

urlpatterns = [
    path("setup/", wizard.setup, name="setup"),
    path("setup/<slug:name>/study.toml", wizard.setup_file, name="setup_file"),
    path("setup/<slug:name>/discard/", wizard.setup_discard, name="setup_discard"),
    path("setup/<slug:name>/gold/", gold.setup_gold, name="setup_gold"),
    path("setup/<slug:name>/<slug:step>/", wizard.setup_step, name="setup_step"),
    path("catalogue/", catalogue_views.association_list, name="catalogue"),
    path("catalogue/associations/<int:pk>/", catalogue_views.association, name="association"),
    path("catalogue/groups/", catalogue_views.group_list, name="catalogue_groups"),
    path("catalogue/groups/<int:pk>/", catalogue_views.group, name="catalogue_group"),
    path("catalogue/attributes/", catalogue_views.attribute_list, name="catalogue_attributes"),
    path("catalogue/attributes/<int:pk>/", catalogue_views.attribute, name="catalogue_attribute"),
    path("catalogue/sources/", catalogue_views.source_list, name="sources"),
    path("catalogue/sources/<slug:name>/", catalogue_views.source, name="source"),
    path("catalogue/sources/<slug:name>/<slug:action>/", catalogue_views.source_action, name="source_action"),
    path("catalogue/new-source/", imports_views.new_source, name="new_source"),
    path("catalogue/imports/", imports_views.import_list, name="catalogue_imports"),
    path("catalogue/imports/<int:pk>/", imports_views.import_page, name="catalogue_import"),
    path(
        "catalogue/imports/<int:pk>/progress/",
        imports_views.import_progress,
        name="catalogue_import_progress",
    ),
    path("catalogue/imports/<int:pk>/delete/", imports_views.import_delete, name="catalogue_import_delete"),
    path("studies/<slug:name>/people/", people.people, name="people"),
    path("studies/<slug:name>/people/<int:pk>/<slug:action>/", people.person_action, name="person_action"),
    path("studies/<slug:name>/release/", releases_views.release_page, name="release_page"),
    path("studies/<slug:name>/release/download/", releases_views.release_download, name="release_download"),
    path("studies/<slug:name>/fill-rates/", people.fill_rates, name="fill_rates"),
    path("studies/<slug:name>/status/", people.study_status, name="study_status"),
    path("studies/<slug:name>/invitations/", people.invitation_list, name="invitations"),
    path(
        "studies/<slug:name>/invitations/<int:pk>/revoke/", people.revoke_invitation, name="revoke_invitation"
    ),
    path("studies/<slug:name>/webhooks/", webhooks_views.webhook_list, name="webhooks"),
    path("studies/<slug:name>/webhooks/<int:pk>/", webhooks_views.webhook, name="webhook"),
    path(
        "studies/<slug:name>/webhooks/<int:pk>/<slug:action>/",
        webhooks_views.webhook_action,
        name="webhook_action",
    ),
    path(
        "studies/<slug:name>/webhooks/<int:pk>/messages/<int:delivery>/",
        webhooks_views.redeliver,
        name="webhook_redeliver",
    ),
    path("studies/<slug:name>/hours/", audit_views.exposure, name="exposure"),
    path("studies/<slug:name>/hours.csv", audit_views.exposure_csv, name="exposure_csv"),
    path("hours/", audit_views.exposure, name="exposure_all"),
    path("hours.csv", audit_views.exposure_csv, name="exposure_all_csv"),
    path("audit/", audit_views.audit, name="audit"),
    path("audit.<slug:fmt>", audit_views.audit_export, name="audit_export"),
]
