"""Pages of machine judges."""
