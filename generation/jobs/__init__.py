"""Jobs: claimed, made and completed by workers."""
