"""Templates of studies: the papers' settings as study files, with texts that every study adapts
(docs/studies.md). Pure: no Django but for the names that pages translate."""
