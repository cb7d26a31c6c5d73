"""Image sets: their images, how each came to be, and whether the files are whole."""
