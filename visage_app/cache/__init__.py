"""The cache: in Redis for all processes, or in each process."""
