"""Brightness of images, and of what models make from them (PROTOCOL §12)."""
