"""Plans: what a recipe would make, of whom and into which image set, before anything is written."""
