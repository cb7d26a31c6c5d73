"""What all resources of the API share: access, errors, pages, tokens, schema (docs/api.md)."""
