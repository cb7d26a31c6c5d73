"""Sources from one's own pairs, and imports of SeeGULL's and ViSAGe's files, for programs."""
