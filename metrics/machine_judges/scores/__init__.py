"""What is stored about machine judges, beside people (PROTOCOL §16)."""
