"""The scopes that the resources of several rooms ask of a token."""

from __future__ import annotations

from annotation.models import Scope

EXPORT_SCOPES: dict[str, Scope] = dict.fromkeys(("GET", "POST", "DELETE"), Scope.EXPORT)
