"""Statistics of machine judges: arrays in, results out. No Django."""
