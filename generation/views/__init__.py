"""Pages of runs, their images, and how each came to be."""
