"""Participation in a study: invitations, crowd platforms, consent, profile, leaving (docs/recruiting.md)."""
