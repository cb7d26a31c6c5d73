"""Image sets: their images, how each was made, and whether the files are intact."""
