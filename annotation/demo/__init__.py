"""The demonstration: a small complete study with drawn pictures and simulated answers (docs/demo.md).

annotation/demo/data says what is simulated and with which bias.
"""
