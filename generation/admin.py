"""Runs in the Django admin, read-only; their own pages control them."""

from django.contrib import admin

from annotation.admin import ReadOnly
from generation.models import Run


@admin.register(Run)
class RunAdmin(ReadOnly):
    list_display = ("id", "kind", "state", "image_set", "backend", "created_by", "created_at")
    list_filter = ("kind", "state", "backend")
    list_select_related = ("image_set", "created_by")
    search_fields = ("image_set__name", "recipe_hash")
