"""Runs: made of plans, started, paused, resumed, cancelled; their pages and their API."""
