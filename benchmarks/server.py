"""The program's own settings, with one more page: benchmarks/urls.py."""

from visage_app.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.urls"
