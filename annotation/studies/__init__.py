"""Studies: study files, tasks, units, and whether enrolled people can fill the quotas (docs/studies.md)."""
