"""Logging in and out, passwords, the second factor."""
