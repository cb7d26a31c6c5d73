"""Reads of background imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation import policies
from annotation.models import CatalogueImport

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def imports_of(user: User) -> QuerySet[CatalogueImport]:
    """The imports that `user` may see, newest first: their own, and an admin all. None unless they may add
    sources."""
    if not policies.may_edit_catalogue(user):
        raise Http404
    rows = CatalogueImport.objects.select_related("by").order_by("-pk")
    return rows if policies.is_admin(user) else rows.filter(by=user)


def import_of(user: User, pk: int) -> CatalogueImport:
    """One import; 404 unless `user` may see it."""
    return get_object_or_404(imports_of(user), pk=pk)
