"""Everything an installation holds in one file, and back again, on either database (docs/backup.md)."""
