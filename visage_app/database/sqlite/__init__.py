"""SQLite with several concurrent writers: see base.py."""
