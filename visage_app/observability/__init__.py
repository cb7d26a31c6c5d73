"""Logs, metrics and reports of errors."""
