"""Token scopes that resources of several packages need."""

from __future__ import annotations

from annotation.models import Scope

EXPORT_SCOPES: dict[str, Scope] = dict.fromkeys(("GET", "POST", "DELETE"), Scope.EXPORT)
