"""Embeddings of images and texts: reading them, and importing those made elsewhere."""
