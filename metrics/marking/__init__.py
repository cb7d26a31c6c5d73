"""Captions that name the group of an image (PROTOCOL §12)."""
