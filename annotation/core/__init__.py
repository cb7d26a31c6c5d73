"""What every room shares. Nothing here knows a table of this app."""
