"""Pages of embedding tests: their files, one file's effect sizes, its encoders, and its ranking."""
