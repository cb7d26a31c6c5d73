"""What a file of vectors holds, and every way in which it may be wrong."""

import hashlib
import math
import zipfile

import numpy as np
import pytest

from generation.core.file_errors import FileUnusable
from generation.embeddings import vector_files
from tests.generation.embeddings.files import saved, three

LONGEST = {"names": 20, "groups": 10, "texts": 15}


def read(path):
    return vector_files.read(path, longest=LONGEST)


def refused(path):
    with pytest.raises(FileUnusable) as caught:
        read(path)
    return str(caught.value)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4"])
def test_vectors_are_brought_to_length_one(tmp_path, dtype):
    content = read(saved(tmp_path, **three(dtype)))
    assert (content.names, content.groups) == (["a.png", "b.png", "c.png"], ["Asian", "Asian", "White"])
    assert content.texts == ["we", "they"]
    assert (content.vectors.dtype, content.text_vectors.dtype) == (np.float32, np.float32)
    # by hand: 3-4-5, 0-0-2 and 1-2-2
    wanted = [[0.6, 0.8, 0], [0, 0, 1], [1 / 3, 2 / 3, -2 / 3]]
    assert content.vectors == pytest.approx(np.array(wanted), abs=1e-3 if dtype == "float16" else 1e-7)
    assert content.text_vectors == pytest.approx(np.array([[1, 0, 0], [0, -1, 0]]))


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e308])
def test_any_scale_is_taken(tmp_path, scale):
    given = three("float64")
    given["vectors"] = np.array([[1.0, 1.0, 0.0]] * 3) * scale
    assert read(saved(tmp_path, **given)).vectors[2] == pytest.approx(
        [math.sqrt(0.5), math.sqrt(0.5), 0], abs=1e-3 if scale == 1e-320 else 1e-7
    )


def test_more_rows_than_are_normalized_at_once(tmp_path):
    random = np.random.default_rng(0)
    vectors = random.normal(size=(9001, 3)).astype(np.float32) * 7
    names = np.array([f"{number}.png" for number in range(9001)])
    content = read(saved(tmp_path, names=names, groups=np.full(9001, "Asian"), vectors=vectors))
    for row in (0, 4095, 4096, 9000):
        numbers = [float(each) for each in vectors[row]]
        length = math.sqrt(sum(each**2 for each in numbers))
        assert content.vectors[row] == pytest.approx([each / length for each in numbers], abs=1e-6)
    assert (content.text_vectors.shape, content.text_vectors.dtype) == ((0, 3), np.float32)
    vectors[4096], vectors[4097, 1] = 0, np.nan
    error = refused(saved(tmp_path, names=names, groups=np.full(9001, "Asian"), vectors=vectors))
    assert "2 errors" in error
    assert "vectors[4096]: all its numbers are 0" in error
    assert "vectors[4097]: a number is NaN" in error


def test_bytes_are_texts_and_other_arrays_are_named(tmp_path):
    others = ("age", "extra", "hue", "mask", "size")
    given = {**three(), "texts": np.array(["wé".encode(), b"they"]), **dict.fromkeys(others, np.ones(1))}
    content = read(saved(tmp_path, **given))
    assert content.texts == ["wé", "they"]
    assert content.ignored == others


def test_texts_may_be_as_long_as_the_limit(tmp_path):
    longest = {name: np.array(["x" * LONGEST[name]]) for name in ("names", "groups", "texts")}
    vectors = np.full((1, 1), 2, np.float32)
    content = read(saved(tmp_path, **longest, vectors=vectors, text_vectors=vectors))
    assert content.vectors.tolist() == [[1.0]]
    assert [len(each[0]) for each in (content.names, content.groups, content.texts)] == list(LONGEST.values())


def test_an_array_that_does_not_fit_into_memory_is_named(tmp_path, monkeypatch):
    path = saved(tmp_path, **three())
    read_array = np.lib.npyio.NpzFile.__getitem__

    def full(self, name):
        if name == "vectors":
            raise MemoryError
        return read_array(self, name)

    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", full)
    assert "vectors: it does not fit into memory" in refused(path)


def test_texts_need_no_row(tmp_path):
    none = {"texts": np.zeros(0, "U1"), "text_vectors": np.zeros((0, 2), np.float32)}
    assert read(saved(tmp_path, **{**three(), **none})).texts == []


def test_the_hash_is_that_of_the_file(tmp_path):
    path = saved(tmp_path, **three())
    assert vector_files.digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(FileUnusable, match="cannot be read"):
        vector_files.digest(tmp_path / "nowhere.npz")


def with_row(name, row, value):
    array = three("float64")[name].astype("U30" if name in ("names", "groups", "texts") else "float64")
    array[row] = value
    return {name: array}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"names": None}, ["names: the array is missing"]),
        ({"groups": None, "vectors": None}, ["2 errors", "groups: the array", "vectors: the array"]),
        ({"texts": None}, ["texts: the array is missing. Give texts with text_vectors, or neither"]),
        ({"text_vectors": None}, ["text_vectors: the array is missing"]),
        ({"names": np.array(["a", "b"])}, ["names has 2, groups has 3, vectors has 3", "the same rows"]),
        ({"texts": np.array(["a"])}, ["texts has 1, text_vectors has 2"]),
        ({"text_vectors": np.ones((2, 4))}, ["vectors have 3 numbers each, text_vectors 4"]),
        ({"text_vectors": np.ones((2, 2))}, ["vectors have 3 numbers each, text_vectors 2"]),
        ({"vectors": np.ones(3)}, ["vectors: its shape is (3,). It should be (rows, numbers"]),
        ({"vectors": np.ones((3, 0))}, ["vectors: its shape is (3, 0)"]),
        ({"names": np.array([["a", "b", "c"]])}, ["names: its shape is (1, 3). It should be (rows,)"]),
        ({"vectors": np.ones((3, 3), dtype=int)}, ["vectors: its type is int64", "float32"]),
        ({"vectors": np.ones((3, 3), dtype=complex)}, ["vectors: its type is complex128"]),
        ({"names": np.arange(3)}, ["names: its type is int64. Save it as texts"]),
        (
            {"names": np.array(["a", "b", None])},
            ["names: it holds Python objects", "dtype=str"],
        ),
        ({"vectors": np.array([[None]] * 3)}, ["vectors: it holds Python objects", "float32"]),
        (with_row("vectors", 1, [1, np.nan, 1]), ["vectors[1]: a number is NaN or infinite. Embed it again"]),
        (with_row("vectors", 2, [1, 1, -np.inf]), ["vectors[2]: a number is NaN"]),
        (with_row("text_vectors", 0, [np.inf, 0, 0]), ["text_vectors[0]: a number is NaN"]),
        (with_row("vectors", 0, [0, 0, -0.0]), ["vectors[0]: all its numbers are 0"]),
        (with_row("text_vectors", 1, [0, 0, 0]), ["text_vectors[1]: all its numbers are 0"]),
        (with_row("names", 2, "a.png"), ["names[2]: 'a.png' is also names[0]. Leave one"]),
        (with_row("texts", 1, "we"), ["texts[1]: 'we' is also texts[0]"]),
        (with_row("names", 1, " "), ["names[1]: it is empty"]),
        (with_row("groups", 1, ""), ["groups[1]: it is empty"]),
        (with_row("texts", 0, "x" * 16), ["texts[0]: it has 16 characters. Shorten it to 15"]),
        (with_row("names", 0, "x" * 21), ["names[0]: it has 21 characters"]),
        (with_row("groups", 0, "x" * 11), ["groups[0]: it has 11 characters"]),
        (with_row("texts", 0, "a\0b"), ["texts[0]: it contains a null character"]),
        (with_row("texts", 0, "a\ud800b"), ["texts[0]: it is not valid Unicode"]),
        ({"names": np.array(["x" * 90, "x" * 90, "b"])}, [f"names[1]: '{'x' * 80}' is also names[0]"]),
        ({"texts": np.array([b"\xff", b"\xfe"])}, ["2 errors", "texts[1]: it is not valid Unicode"]),
        ({"texts": np.array([b"\xff", b"a"])}, ["texts[0]: it is not valid Unicode. Write it in UTF-8"]),
        (
            {
                "names": np.zeros(0, "U1"),
                "groups": np.zeros(0, "U1"),
                "vectors": np.zeros((0, 3), np.float32),
            },
            ["names: there is no row"],
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_row_and_the_cure(tmp_path, changed, told):
    given = {name: array for name, array in {**three(), **changed}.items() if array is not None}
    error = refused(saved(tmp_path, **given))
    assert "nothing was stored" in error
    for each in told:
        assert each in error


def test_all_errors_are_counted_and_the_first_are_shown(tmp_path):
    names = np.array([f"{number}.png" for number in range(100)])
    error = refused(
        saved(tmp_path, names=names, groups=np.full(100, "Asian"), vectors=np.zeros((100, 2), np.float32))
    )
    assert "100 errors" in error
    assert "vectors[19]" in error
    assert "vectors[20]" not in error
    assert "... and 80 more." in error


@pytest.mark.parametrize("content", ["text", "empty", "npy", "pickle", "truncated", "zip", "spoilt"])
def test_what_is_no_npz_is_refused(tmp_path, content):
    path = saved(tmp_path, **three())
    whole = path.read_bytes()
    if content == "npy":
        with path.open("wb") as file:
            np.save(file, np.ones(3))
    elif content == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("names.npy", b"no array")
    else:
        spoilt = bytearray(whole)
        spoilt[whole.index(b"\x93NUMPY") + 130] ^= 255
        path.write_bytes(
            {
                "text": b"name,vector\n",
                "empty": b"",
                "pickle": b"\x80\x04K\x01.",
                "truncated": whole[: len(whole) // 2],
                "spoilt": bytes(spoilt),
            }[content]
        )
    error = refused(path)
    assert "NPZ" in error or "damaged" in error
    assert error.count("nothing was stored") == 1
    assert "nothing was stored" in error


def test_a_folder_or_nothing_is_refused(tmp_path):
    assert "cannot be read" in refused(tmp_path)
    assert "cannot be read" in refused(tmp_path / "nowhere.npz")
