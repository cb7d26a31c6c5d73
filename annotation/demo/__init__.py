"""The demonstration: a small complete study with drawn pictures and simulated answers (docs/demo.md).

What is simulated, and with which bias, is in annotation/demo/data.
"""
