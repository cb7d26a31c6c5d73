"""Recipes and prompts: everything that determines the results of a run."""
