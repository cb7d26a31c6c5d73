"""Exports: annotator-level answers as files (docs/exports.md; Prabhakaran et al. 2021).

`table` yields the rows of the long table, `image_answers` the answers about each image.
"""
