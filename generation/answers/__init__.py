"""What models answered: pages, API, downloads, and answers from elsewhere."""
