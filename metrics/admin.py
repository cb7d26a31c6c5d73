"""Score runs in Django's admin."""

from django.contrib import admin

from annotation.admin import ReadOnly
from metrics.models import ScoreRun


@admin.register(ScoreRun)
class ScoreRunAdmin(ReadOnly):
    list_display = ("id", "study", "metric", "version", "variant", "state", "created_at", "finished_at")
    list_filter = ("state", "metric", "variant")
    list_select_related = ("study",)
    search_fields = ("study__name", "metric", "digest")
    show_full_result_count = False
