"""Pages of associations that models make."""
