"""API of machine judges."""
