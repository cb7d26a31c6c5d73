"""The audit log, and hours and exposure of annotators (docs/audit.md)."""
