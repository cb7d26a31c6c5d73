"""The audit log, and how long annotators worked and what they saw (docs/audit.md)."""
