"""Static files under names that change with their content."""

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

# Of what django-htmx carries, the pages use this; htmx 4 beside it names modules that are not there.
_HTMX = ("django_htmx/htmx-2.min.js", "django_htmx/django-htmx.js")


class HashedFiles(CompressedManifestStaticFilesStorage):
    """Scripts name each other by these names too: a browser never runs an old module beside a new one."""

    support_js_module_import_aggregation = True

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        used = {
            path: where
            for path, where in paths.items()
            if path in _HTMX or not path.startswith("django_htmx/")
        }
        yield from super().post_process(used, dry_run, **options)

    def compress_files(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """What pages name, once: nobody is sent the copy under its plain name, and a source map only who
        debugs. Compressing takes most of the time of `collectstatic`."""
        named = set(self.hashed_files.values())
        yield from super().compress_files({path for path in paths if path in named and path[-4:] != ".map"})


class ChartBundle(BaseFinder):
    """js/vega.js: Vega, Vega-Lite and vega-embed in one file, with the interpreter of expressions that a
    strict Content-Security-Policy needs.

    It is made of what the program that draws the figures carries, so the page draws as the files are drawn,
    and from no other server. Made at the first use (`collectstatic`, or a request without it: some seconds)
    and kept in var/ under that program's version.
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
        kept = self._folder() / self.PATH
        if not kept.is_file():
            # 60 MB of drawing program, for those who need it only
            import vl_convert

            bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
            kept.parent.mkdir(parents=True, exist_ok=True)
            # beside its name and renamed: nobody is ever served half of it
            with tempfile.NamedTemporaryFile("w", dir=kept.parent, suffix=".new", delete=False) as fresh:
                fresh.write(bundle)
            Path(fresh.name).chmod(0o644)
            Path(fresh.name).replace(kept)
        return kept
