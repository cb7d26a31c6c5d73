"""Backup of a whole installation to one file, and restore on either database (docs/backup.md)."""
