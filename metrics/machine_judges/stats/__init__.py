"""Pure statistics of machine judges: arrays in, results out, without Django."""
