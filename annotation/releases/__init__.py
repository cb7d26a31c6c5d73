"""Releases: annotator-level data published without exposing anybody (docs/releases.md).

`annotators` decides who is in a release and what it discloses about them (`coarsening`, `linkage`). `rows`
and `tables` write the data; `metadata`, `documents` and `croissant` describe it.
`services.bundle` makes the folder or download; `services.importing` imports one.
"""
