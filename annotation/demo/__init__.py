"""The demonstration: a complete small study whose pictures are drawn and whose answers are made up.

Its rows say so: `ImageSet.drawn`, `Study.simulated`, `Annotator.simulated`, and a mark in every picture.
What is made up, and with which bias, stands in annotation/demo/data and in docs/demo.md.
"""
