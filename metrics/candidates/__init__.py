"""Candidates for stereotypes from language models (PROTOCOL §14; Jha et al. 2023, SeeGULL, section 3.1)."""
