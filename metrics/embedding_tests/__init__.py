"""Association tests on embeddings, and image ranking (PROTOCOL §12, Wolfe & Caliskan 2022)."""
