"""Machine judges: models that answer the items of a study beside people (PROTOCOL §16)."""
