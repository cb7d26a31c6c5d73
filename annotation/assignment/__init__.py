"""Who judges what next: slots and their leases (docs/adr/0002-slots.md)."""
