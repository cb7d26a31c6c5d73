"""Readers of released files: a file in, plain rows and a list of its oddities out. No Django here.

What a reader refuses, it refuses with `FileRefused` (file, sheet, row, column, cure); what it changes or
leaves out, it says in an `Oddity` (PROTOCOL §13).
"""
