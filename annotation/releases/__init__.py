"""Releases: annotator-level data published so that nobody is exposed (docs/releases.md).

`annotators` decides who is in a release and what it tells of them (`coarsening`, `linkage`), `rows` and
`tables` write the data, `metadata`, `data_card`, `croissant` and `licence` describe them. `services.bundle`
makes a folder or a download of it all; `services.importing` is the way back.
"""
