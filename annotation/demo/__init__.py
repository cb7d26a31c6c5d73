"""The demonstration: a small complete study with drawn pictures and simulated answers (docs/demo.md)."""
