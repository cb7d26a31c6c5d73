"""Names of the demonstration's studies."""

FINISHED = "demo"
LIVE = "demo-live"
OLD_LIVE = "demo-rating"
"""The live study of older versions. It stays where it is: people may have answered in it."""
