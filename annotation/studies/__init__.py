"""Studies: study files, tasks, units, and whether the people there can fill them (docs/studies.md)."""
