"""Jobs: claimed, done and completed by workers."""
