"""SQLite for several people at once: see base.py."""
