"""Convert unit vectors to stored bytes and back: little-endian float32. Pure: no Django."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_DTYPE = np.dtype("<f4")


def pack(vector: npt.NDArray[np.floating]) -> bytes:
    """The bytes of one vector, shape (dim,). Raises ValueError unless it is finite and of length 1."""
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueError(f"An embedding is one finite vector, not an array of shape {vector.shape}.")
    if abs(float(np.linalg.norm(vector)) - 1) > 1e-3:
        raise ValueError(f"An embedding has length 1, not {float(np.linalg.norm(vector)):.4f}.")
    return vector.astype(_DTYPE).tobytes()


def unpack(stored: Sequence[bytes | memoryview], *, dim: int) -> npt.NDArray[np.float32]:
    """Stored vectors as an array of shape (len(stored), dim). Raises ValueError if the sizes do not fit."""
    data = b"".join(bytes(one) for one in stored)
    if len(data) != len(stored) * dim * _DTYPE.itemsize:
        raise ValueError(f"{len(stored)} vectors of {dim} numbers expected; {len(data)} bytes found.")
    return np.frombuffer(data, dtype=_DTYPE).reshape(len(stored), dim).astype(np.float32)
