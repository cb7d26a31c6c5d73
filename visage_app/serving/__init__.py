"""Serving: gunicorn, the supervisor, static files."""
