"""Identity groups, attributes, associations and their sources, in the API."""
