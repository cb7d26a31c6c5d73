"""Webhooks: URLs that receive messages about events in a study (docs/webhooks.md)."""
