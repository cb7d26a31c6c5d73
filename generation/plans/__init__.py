"""Plans: what a run would make, of which groups and into which image set. Nothing is written."""
