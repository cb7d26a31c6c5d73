"""What every room of this app shares."""
