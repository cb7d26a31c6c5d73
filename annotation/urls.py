from django.urls import include, path

from annotation.accounts.views import accounts, tokens
from annotation.annotate.views import endpoints, page, trying
from annotation.demo import views as demo_views
from annotation.exports import views as exports_views
from annotation.images import views as images_views
from annotation.participation.views import join, studies

_ANNOTATE_ENDPOINTS = [
    path("items/", endpoints.next_items, name="work_items"),
    path("answers/", endpoints.answers, name="work_answers"),
    path("skips/", endpoints.skips, name="work_skips"),
    path("last/", endpoints.last, name="work_last"),
    path("corrections/", endpoints.corrections, name="work_corrections"),
    path("token/", endpoints.token, name="work_token"),
]

_TRY = [
    path("", trying.first_page, name="try_study"),
    path("annotate/", trying.annotate, name="try_annotate"),
    path("end/", trying.end, name="try_end"),
    path("items/", trying.next_items, name="try_items"),
    path("answers/", trying.answers, name="try_answers"),
    path("skips/", trying.skips, name="try_skips"),
    path("corrections/", trying.corrections, name="try_corrections"),
    path("token/", trying.token, name="try_token"),
]

urlpatterns: list = [
    path("people/", accounts.people, name="accounts"),
    path("people/<slug:who>/", accounts.account, name="account"),
    path("people/<slug:who>/merge/", accounts.merge, name="account_merge"),
    path("people/<slug:who>/<slug:action>/", accounts.account_action, name="account_action"),
    path("demo/enter/", demo_views.enter, name="demo_entry"),
    path("profile/", studies.profile, name="profile"),
    path("tokens/", tokens.token_list, name="tokens"),
    path("tokens/<int:pk>/revoke/", tokens.revoke_token, name="revoke_token"),
    path("studies/<slug:name>/", studies.study, name="study"),
    path("studies/<slug:name>/consent/", studies.consent, name="consent"),
    path("studies/<slug:name>/profile/", studies.profile, name="study_profile"),
    path("studies/<slug:name>/annotate/", page.annotate, name="annotate"),
    path("studies/<slug:name>/stop/", page.stop, name="stop"),
    path("studies/<slug:name>/thanks/", studies.thanks, name="thanks"),
    path("studies/<slug:name>/withdraw/", studies.withdraw, name="withdraw"),
    path("studies/<slug:name>/come-back/", studies.come_back, name="come_back"),
    path("studies/<slug:name>/enter/", join.enter, name="enter"),
    path("join/<slug:code>/", join.join, name="join"),
    # Pages that were open before an upgrade still send their answers here. `reverse` uses the later entry.
    path("studies/<slug:name>/desk/", include(_ANNOTATE_ENDPOINTS)),
    path("studies/<slug:name>/annotate/", include(_ANNOTATE_ENDPOINTS)),
    path("studies/<slug:name>/try/", include(_TRY)),
    path("", include("annotation.urls_lead")),
    path("studies/<slug:name>/export/", exports_views.export_page, name="export_page"),
    path("studies/<slug:name>/export/download/", exports_views.export_download, name="export_download"),
    path("studies/<slug:name>/export/list/", exports_views.export_list, name="export_list"),
    path("studies/<slug:name>/export/<int:pk>/file/", exports_views.export_file, name="export_file"),
    path(
        "studies/<slug:name>/export/<int:pk>/<slug:action>/",
        exports_views.export_action,
        name="export_action",
    ),
    path(
        "studies/<slug:name>/export/annotations.csv",
        exports_views.export_annotations,
        name="export_annotations",
    ),
    path(
        "studies/<slug:name>/export/annotations.csv.columns.md",
        exports_views.export_columns,
        name="export_columns",
    ),
    path("images/<int:pk>/", images_views.image_file, name="image_file"),
    path("images/<int:pk>/<int:side>/", images_views.thumbnail_file, name="thumbnail_file"),
]
