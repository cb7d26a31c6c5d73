"""The API of associations that models make."""
