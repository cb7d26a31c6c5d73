"""Static files with content hashes in their names."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage, Storage
from whitenoise.storage import CompressedManifestStaticFilesStorage

# The files of django-htmx that pages use. It also contains htmx 4, which imports modules that are missing.
_HTMX = {"django_htmx/htmx-2.min.js", "django_htmx/django-htmx.js"}


class HashedFiles(CompressedManifestStaticFilesStorage):
    """Imports in scripts use the hashed names too, so a browser never mixes old and new modules."""

    support_js_module_import_aggregation = True

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        unused = {path for path in paths if path.startswith("django_htmx/")} - _HTMX
        needed = {path: where for path, where in paths.items() if path not in unused}
        yield from super().post_process(needed, dry_run, **options)

    def compress_files(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Compress only the hashed copies, without source maps: browsers do not load the others. Compressing
        takes most of the time of `collectstatic`."""
        named = set(self.hashed_files.values())
        yield from super().compress_files({path for path in paths if path in named and path[-4:] != ".map"})


class ChartBundle(BaseFinder):
    """js/vega.js: Vega, Vega-Lite and vega-embed in one file, with the expression interpreter that a strict
    Content-Security-Policy needs.

    It comes from vl-convert, which also renders the figure files, so both look the same. Created at the first
    use, which takes some seconds, and stored in var/ under the version of vl-convert.
    """

    PATH = "js/vega.js"

    def find(self, path: str, find_all: bool = False, **options: Any) -> Any:
        if path != self.PATH:
            return []
        made = str(self._made())
        return [made] if find_all else made

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        self._made()
        yield self.PATH, FileSystemStorage(self._folder())

    def check(self, **options: Any) -> list[Any]:  # type: ignore[valid-type]
        return []

    @staticmethod
    def _folder() -> Path:
        return Path(settings.VAR_DIR) / "made" / f"vl-convert-{metadata.version('vl-convert-python')}"

    def _made(self) -> Path:
        bundle_path = self._folder() / self.PATH
        if not bundle_path.is_file():
            # Imported only when needed: 60 MB.
            import vl_convert

            bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
            bundle_path.parent.mkdir(parents=True, exist_ok=True)
            # Written to a temporary file and renamed, so that an incomplete file is never served.
            with tempfile.NamedTemporaryFile(
                "w", dir=bundle_path.parent, suffix=".new", delete=False
            ) as temporary:
                temporary.write(bundle)
            Path(temporary.name).chmod(0o644)
            Path(temporary.name).replace(bundle_path)
        return bundle_path
