"""The code version, stored with every score and image so that it can be reproduced years later."""

import shutil
import subprocess
from functools import cache
from importlib import metadata

from django.conf import settings

PACKAGE = "visage-studies"


@cache
def code_version() -> str:
    """The installed version, and in a checkout its commit: 'visage-studies 0.1.0 (1a2b3c4d5e6f)'.

    A '+' after the commit means that tracked files had been changed.
    """
    try:
        version = metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        version = "not installed"
    commit = _commit()
    return f"{PACKAGE} {version} ({commit})" if commit else f"{PACKAGE} {version}"


def _commit() -> str:
    git = shutil.which("git")
    if settings.CODE_REVISION or git is None or not (settings.BASE_DIR / ".git").exists():
        return str(settings.CODE_REVISION)
    describe = ["describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+"]
    command = [git, "-C", str(settings.BASE_DIR), *describe]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)  # noqa: S603
    return done.stdout.strip() if done.returncode == 0 else ""
