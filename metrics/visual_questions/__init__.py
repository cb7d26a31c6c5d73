"""Questions about images, answered by models, by group (PROTOCOL §12)."""
