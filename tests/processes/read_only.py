"""A process for which everything is read-only but /tmp, which is empty, and the folder of its data, as in a
container of docker-compose.yml."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.processes.conftest import ROOT

# Program and data may lie below /tmp themselves: each is held elsewhere while an empty /tmp is put there.
_MOUNT = """
program=$1 data=$2; shift 2
mount --rbind "$program" /srv
mount --rbind "$data" /mnt
mount -t tmpfs none /tmp
mkdir -p "$program" "$data"
mount --rbind /srv "$program"
mount --rbind /mnt "$data"
mount -o remount,ro,bind "$program"
mount -o remount,ro,bind /srv
mount -o remount,ro,bind /
cd "$program"
exec "$@"
"""


def prefix(data: Path) -> list[str]:
    """To put before a command, which stays the process that is started; [] where this may not be."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return []
    own = "--mount" if os.geteuid() == 0 else "-rm"
    said = [unshare, own, "sh", "-euc", _MOUNT, "sh", str(ROOT), str(data)]
    may = subprocess.run([*said, "true"], capture_output=True, check=False).returncode == 0
    return said if may else []
