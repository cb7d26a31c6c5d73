"""Readers of released files, which return plain rows and a list of oddities. No Django here.

A reader raises `FileRefused` (file, sheet, row, column, fix) for errors, and reports everything it changes or
leaves out as an `Oddity` (PROTOCOL §13).
"""
