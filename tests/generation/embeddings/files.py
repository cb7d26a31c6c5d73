"""Files of vectors as people save them."""

import numpy as np


def saved(folder, *, name="vectors.npz", **arrays):
    """The path of an NPZ file with these arrays."""
    path = folder / name
    np.savez(path, **arrays)
    return path


def three(dtype="float32"):
    """Three images of two groups, and two texts, in three dimensions."""
    return {
        "names": np.array(["a.png", "b.png", "c.png"]),
        "groups": np.array(["Asian", "Asian", "White"]),
        "vectors": np.array([[3, 4, 0], [0, 0, 2], [1, 2, -2]], dtype=dtype),
        "texts": np.array(["we", "they"]),
        "text_vectors": np.array([[9, 0, 0], [0, -0.5, 0]], dtype=dtype),
    }
