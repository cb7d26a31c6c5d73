"""Errors of the disk or the bucket that pass by themselves or after somebody's help: work waits for them.

Trying again at once would fail again, and the job is not to blame.
"""

import errno

_TEMPORARY = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS),  # full, or read-only after an error
    *(errno.EIO, errno.ESTALE, errno.ENODEV, errno.ENXIO),  # a disk or a network file system that is away
    *(errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH, errno.ENETDOWN),
}
_FULL = (errno.ENOSPC, errno.EDQUOT)


def is_temporary(error: BaseException) -> bool:
    """Whether the storage caused the error: a full disk, an input/output error, a bucket that does not answer
    or refuses (visage_app/storage/bucket.py raises ConnectionError)."""
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    return isinstance(error, OSError) and error.errno in _TEMPORARY


def message(error: BaseException) -> str:
    """What is wrong and what to do, for people."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return f"The disk is full ({error.strerror}). Free some space: it is tried again every minute."
    return (
        f"The storage cannot be used ({type(error).__name__}: {error}). Check the disk or the bucket: it is "
        "tried again every minute."
    )
