"""The scale on which people rate how offensive something is (PROTOCOL §4)."""

LOWEST, HIGHEST = -1.0, 4.0
