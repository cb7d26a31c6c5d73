"""Exports: annotator-level answers as files (docs/exports.md; Prabhakaran et al. 2021).

`table` makes the rows of the long table and `image_answers` the answers about each image, both in constant
memory. Each format is a module in `formats`, and `formats.registry` lists them.
"""
