"""The database: settings, writers that queue on SQLite, pages read from a replica."""
