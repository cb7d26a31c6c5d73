"""Import existing images from a folder or a ZIP with a table."""
