"""Recipes and prompts: everything that decides what a run makes."""
