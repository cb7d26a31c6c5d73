"""Importing SeeGULL and ViSAGe as released, and reporting what is odd about them (docs/importing.md)."""
