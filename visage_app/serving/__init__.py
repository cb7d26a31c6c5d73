"""The processes that serve: gunicorn, the supervisor, static files."""
