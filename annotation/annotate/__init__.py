"""The annotation page: items, answers, corrections and skips (docs/annotating.md)."""
