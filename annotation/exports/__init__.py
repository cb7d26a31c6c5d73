"""Exports: annotator-level answers as files (docs/exports.md; Prabhakaran et al. 2021).

`table` yields the rows of the long table and `image_answers` the answers about each image, both in constant
memory. Each format is a module in `formats`; `formats.registry` lists them.
"""
