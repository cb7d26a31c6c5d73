"""Charts of embedding tests: effect sizes, and shares by region as points and as maps."""
