"""Image files and uploads in progress."""
