"""Where files are kept: folders or buckets, and what happens when there is no room."""
