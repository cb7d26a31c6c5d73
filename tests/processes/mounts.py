"""Disks that only one process and what it starts sees, as `unshare -rm` gives them."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest

_NEW_MOUNTS, _NEW_USERS = 0x00020000, 0x10000000


def check_allowed(own: str = "-rm") -> str:
    """The path of `unshare`. Skips where a disk may not be mounted with these options of it."""
    unshare = shutil.which("unshare")
    may = [unshare, own, "mount", "-t", "tmpfs", "none", "/mnt"]
    if unshare is None or subprocess.run(may, capture_output=True, check=False).returncode:
        pytest.skip("NO SMALL DISK: this account may not mount one; no disk was filled")
    return unshare


def go_apart() -> None:
    """From now on this process, as root of its own, mounts what nobody else sees."""
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_MOUNTS | _NEW_USERS):
        raise OSError(ctypes.get_errno(), "no mounts of one's own")
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"0 {user} 1")
    (own / "gid_map").write_text(f"0 {group} 1")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def mount(folder: Path, size: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], check=True)


def resize(folder: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)
