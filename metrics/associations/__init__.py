"""Associations that models make by themselves (PROTOCOL §11; BiasDora, Raj et al. 2024)."""
