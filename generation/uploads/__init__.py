"""Finished images that are brought in: a folder or a ZIP with a table."""
