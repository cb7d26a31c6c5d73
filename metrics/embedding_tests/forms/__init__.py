"""The forms that store a file of embedding tests: the file itself, or its parts in fields."""
