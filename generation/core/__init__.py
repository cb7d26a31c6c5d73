"""Shared by the rooms of this app."""
