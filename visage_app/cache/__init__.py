"""The cache: shared in Redis, or separate in each process."""
