"""The database: settings, a write queue on SQLite, pages read from a replica."""
