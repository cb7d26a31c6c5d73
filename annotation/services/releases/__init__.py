"""Publishing a study's annotator-level data so that others can use them and nobody is exposed (DESIGN §8).

`people` says who is in a release and what may be told of them (`coarsening`), `rows` and `tables` write the
data, `about`, `card`, `croissant` and `terms` what they mean, `bundle` makes a folder or a download of all.
`importing` is the way back. docs/releases.md says what a release protects from, and from what it cannot.
"""

from annotation.services.releases.asked import ReleaseRefused, Wanted
from annotation.services.releases.bundle import Made, Preview, preview, stream_zip, write
from annotation.services.releases.importing import import_release

__all__ = ["Made", "Preview", "ReleaseRefused", "Wanted", "import_release", "preview", "stream_zip", "write"]
