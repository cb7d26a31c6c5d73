"""Login, logout, passwords and the second factor."""
