"""Finished pictures that are brought in: the files, the table that says what they are, the pixels.

Pure: no Django.
"""
