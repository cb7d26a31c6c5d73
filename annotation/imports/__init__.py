"""Importing the released files of SeeGULL and ViSAGe, with a report of their oddities (docs/importing.md)."""
