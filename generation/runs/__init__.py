"""Runs: create them from plans, start, pause, resume and cancel them; their pages and API."""
