"""Effect sizes, permutation tests and ranking, from cosines (PROTOCOL §12). No Django."""
