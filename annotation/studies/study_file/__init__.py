"""Reading and writing study files in TOML (docs/studies.md). Pure: no Django."""
