"""Webhooks: addresses that are told what happens in a study (docs/webhooks.md)."""
