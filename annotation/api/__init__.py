"""Shared by all resources of the API: access, errors, pagination, tokens, schema (docs/api.md)."""
