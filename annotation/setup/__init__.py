"""The wizard that sets up a study in the browser: forms, previews and checks (docs/studies.md)."""
