"""Study files: TOML in, a checked `StudyFile` out, and back (docs/studies.md). Pure: no Django."""
