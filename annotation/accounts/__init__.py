"""Accounts: roles, API tokens, second factor, merging, erasure (docs/administration.md)."""
