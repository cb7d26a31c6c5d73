"""The cache of n-grams: built whole or not at all, looked up right, refused when it does not fit."""

import json
import os

import numpy as np
import pytest

from generation.backends import ngrams_build
from generation.backends.base import BackendError, OutOfMemory
from generation.backends.encode_fake import FakeEncoder
from generation.backends.ngrams import Ngrams

TEXT = "An old man in a hat.\nA woman in a sari, an old man in the street.\nThe man in the hat\n" * 2


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def built(text, out, encoder=None, **given):
    return ngrams_build.build(
        [text], out, encoder=encoder or FakeEncoder(), model="fake", pretrained="1", **given
    )


class TestBuild:
    def test_it_holds_each_ngram_with_its_vector(self, text, tmp_path):
        made = built(text, tmp_path / "out", dtype="float32")
        cache = Ngrams(tmp_path / "out")
        texts = [cache.text(row) for row in range(len(cache))]
        assert texts == sorted(texts)
        assert {"old", "old man", "an old man", "hat"} <= set(texts)
        assert len(texts) == made.rows == sum(made.per_n.values())
        assert made.per_n["1"] == sum(" " not in one for one in texts)
        stored = np.load(tmp_path / "out" / "vectors.npy")
        assert np.array_equal(stored, FakeEncoder().encode_texts(texts))

    def test_float16_is_half_as_large_and_nearly_the_same(self, text, tmp_path):
        built(text, tmp_path / "half")
        built(text, tmp_path / "whole", dtype="float32")
        half, whole = (np.load(tmp_path / name / "vectors.npy") for name in ("half", "whole"))
        assert half.nbytes * 2 == whole.nbytes
        assert np.abs(half - whole).max() < 1e-3

    def test_the_same_text_is_the_same_cache(self, text, tmp_path):
        assert built(text, tmp_path / "a") == built(text, tmp_path / "b")
        for name in ("texts.txt", "vectors.npy", "manifest.json"):
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()

    def test_texts_are_encoded_in_several_goes(self, text, tmp_path, monkeypatch):
        built(text, tmp_path / "a")
        monkeypatch.setattr(ngrams_build, "_TEXTS_AT_ONCE", 4)
        built(text, tmp_path / "b")
        assert (tmp_path / "a" / "vectors.npy").read_bytes() == (tmp_path / "b" / "vectors.npy").read_bytes()

    def test_the_manifest_names_what_it_came_from(self, text, tmp_path):
        built(text, tmp_path / "out", limit=5)
        told = json.loads((tmp_path / "out" / "manifest.json").read_text())
        assert told["sources"][0]["name"] == "text.txt"
        assert len(told["sources"][0]["sha256"]) == 64
        assert (told["model"], told["pretrained"], told["rows"], told["limit"]) == ("fake", "1", 5, 5)
        assert str(tmp_path) not in json.dumps(told)

    def test_anybody_may_read_it(self, text, tmp_path):
        built(text, tmp_path / "out")
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755


class TestAllOrNothing:
    def only_text(self, tmp_path):
        return [path.name for path in tmp_path.iterdir()] == ["text.txt"]

    def test_an_encoder_that_fails(self, text, tmp_path):
        class Failing(FakeEncoder):
            def encode_texts(self, texts):
                raise BackendError("no weights")

        with pytest.raises(BackendError, match="no weights"):
            built(text, tmp_path / "out", Failing())
        assert self.only_text(tmp_path)

    def test_interrupted(self, text, tmp_path):
        class Interrupted(FakeEncoder):
            def encode_texts(self, texts):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            built(text, tmp_path / "out", Interrupted())
        assert self.only_text(tmp_path)

    def test_a_full_disk(self, text, tmp_path, monkeypatch):
        def full(path):
            raise OSError(28, os.strerror(28))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(BackendError, match=r"out could not be written: No space left"):
            built(text, tmp_path / "out")
        assert self.only_text(tmp_path)

    def test_what_is_there_is_left_alone(self, text, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").touch()
        with pytest.raises(BackendError, match=r"already exists\. Name another folder"):
            built(text, tmp_path / "out")
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]

    def test_two_at_once_leave_one_whole_cache(self, text, tmp_path):
        class Overtaken(FakeEncoder):
            def encode_texts(self, texts):
                if not (tmp_path / "out").exists():
                    built(text, tmp_path / "out")
                return super().encode_texts(texts)

        with pytest.raises(BackendError, match="could not be written"):
            built(text, tmp_path / "out", Overtaken(), limit=3)
        assert len(Ngrams(tmp_path / "out")) > 3

    @pytest.mark.parametrize(
        ("option", "name"), [("max_n", "--max-n"), ("min_count", "--min-count"), ("limit", "--limit")]
    )
    def test_numbers_below_one(self, text, tmp_path, option, name):
        with pytest.raises(BackendError, match=f"{name} 0: choose 1 or more"):
            built(text, tmp_path / "out", **{option: 0})

    def test_too_little_text(self, text, tmp_path):
        with pytest.raises(
            ngrams_build.TextRefused, match=r"occurs 99 times in text\.txt.*smaller --min-count"
        ):
            built(text, tmp_path / "out", min_count=99)
        assert self.only_text(tmp_path)

    def test_no_folder_to_write_in(self, text, tmp_path):
        with pytest.raises(BackendError, match=r"Cannot write to .*nowhere: No such file"):
            built(text, tmp_path / "nowhere" / "out")

    def test_vectors_that_are_no_numbers(self, text, tmp_path):
        class Overflown(FakeEncoder):
            def encode_texts(self, texts):
                return super().encode_texts(texts) * np.nan

        with pytest.raises(BackendError, match=r"NaN or infinity\. Try --dtype float32"):
            built(text, tmp_path / "out", Overflown())


class TestMemory:
    class Small(FakeEncoder):
        """Room for two texts."""

        batch = 8

        def encode_texts(self, texts):
            if self.batch > self.room:
                self.batch = max(1, self.batch // 2)
                raise OutOfMemory("full")
            return super().encode_texts(texts)

    def test_a_smaller_batch_is_tried(self, text, tmp_path):
        small = self.Small()
        small.room = 2
        assert built(text, tmp_path / "out", small) == built(text, tmp_path / "plain")
        assert small.batch == 2

    def test_not_one_text_fits(self, text, tmp_path):
        small = self.Small()
        small.room = 0
        with pytest.raises(BackendError, match="too little memory even for one text: full"):
            built(text, tmp_path / "out", small)


class TestRefused:
    @pytest.fixture
    def cache(self, text, tmp_path):
        built(text, tmp_path / "out")
        return tmp_path / "out"

    def test_no_cache(self, tmp_path):
        with pytest.raises(BackendError, match=r"no n-gram cache at .*manage\.py ngrams TEXT --out"):
            Ngrams(tmp_path / "nowhere")

    @pytest.mark.parametrize("name", ["texts.txt", "vectors.npy"])
    @pytest.mark.parametrize("damage", ["missing", "empty", "cut", "longer"])
    def test_damaged(self, cache, name, damage):
        path = cache / name
        if damage == "missing":
            path.unlink()
        elif damage == "empty":
            path.write_bytes(b"")
        elif damage == "cut":
            path.write_bytes(path.read_bytes()[:-3])
        elif name == "texts.txt":
            path.write_bytes(path.read_bytes() + b"more\n")
        else:
            np.save(path, np.concatenate([np.load(path)] * 2))
        with pytest.raises(BackendError, match=r"cannot be used .*Build it again"):
            Ngrams(cache)

    @pytest.mark.parametrize(
        "manifest", ["", "[]", "{}", '{"rows": 1}', "null"], ids=["empty", "list", "none", "one", "null"]
    )
    def test_a_damaged_manifest(self, cache, manifest):
        (cache / "manifest.json").write_text(manifest)
        with pytest.raises(BackendError, match=r"cannot be used \(manifest\.json.*Build it again"):
            Ngrams(cache)

    def test_another_version(self, cache):
        told = json.loads((cache / "manifest.json").read_text())
        (cache / "manifest.json").write_text(json.dumps({**told, "format": 99}))
        with pytest.raises(BackendError, match="it has format 99, but this program reads 1"):
            Ngrams(cache)

    @pytest.mark.parametrize("asked", [("fake", "2"), ("other", "1")])
    def test_another_model(self, cache, asked):
        model, pretrained = asked
        with pytest.raises(
            BackendError, match=rf"was made with fake \(1\).*asks for {model} \({pretrained}\)"
        ):
            Ngrams(cache).check_model(FakeEncoder(), model=model, pretrained=pretrained)

    def test_other_weights_under_the_same_name(self, cache):
        class Other(FakeEncoder):
            def encode_texts(self, texts):
                return super().encode_texts([text[::-1] for text in texts])

        Ngrams(cache).check_model(FakeEncoder(), model="fake", pretrained="1")
        with pytest.raises(BackendError, match="made with other weights of fake"):
            Ngrams(cache).check_model(Other(), model="fake", pretrained="1")

    def test_vectors_of_another_length(self, cache):
        class Short(FakeEncoder):
            def encode_texts(self, texts):
                return super().encode_texts(texts)[:, :7]

        with pytest.raises(BackendError, match="made with other weights of fake"):
            Ngrams(cache).check_model(Short(), model="fake", pretrained="1")

    def test_a_clip_in_a_folder_has_no_tag_and_the_command_says_so(self, cache):
        with pytest.raises(BackendError, match=r"--model 'local-dir:/a folder' --pretrained ''$"):
            Ngrams(cache).check_model(FakeEncoder(), model="local-dir:/a folder", pretrained="")


class TestReleased:
    """antarctic-captions' files: NAME.txt and NAME.npy, nothing else."""

    TEXTS = ("old man", "  an old hat ", "naïve", "", "street")

    @pytest.fixture
    def files(self, tmp_path):
        vectors = FakeEncoder().encode_texts([one.strip() for one in self.TEXTS])
        np.save(tmp_path / "postcache.npy", vectors)
        (tmp_path / "postcache.txt").write_text("".join(f"{one}\n" for one in self.TEXTS))
        (tmp_path / "readme.txt").touch()
        return tmp_path / "postcache.txt"

    @pytest.mark.parametrize("ending", ["", "\n"])
    @pytest.mark.parametrize("named", ["the folder", "the text file"])
    def test_a_line_is_an_ngram(self, files, named, ending):
        files.write_text(files.read_text().rstrip("\n") + ending)
        cache = Ngrams(files if named == "the text file" else files.parent)
        assert [cache.text(row) for row in range(len(cache))] == [one.strip() for one in self.TEXTS]
        assert np.array_equal(cache.vectors, np.load(files.with_suffix(".npy")))
        assert cache.manifest is None

    def test_its_version_changes_with_either_file(self, files):
        versions = {Ngrams(files).version, Ngrams(files).version}
        files.write_text(files.read_text().replace("hat", "cap"))
        versions.add(Ngrams(files).version)
        np.save(files.with_suffix(".npy"), -np.load(files.with_suffix(".npy")))
        versions.add(Ngrams(files).version)
        assert len(versions) == 3

    @pytest.mark.parametrize(
        ("damage", "told"),
        [
            (lambda text: text.write_bytes(text.read_bytes()[:20]), "2 lines, postcache.npy 5 rows"),
            (lambda text: text.write_bytes(b""), "empty"),
            (lambda text: text.write_bytes(b"\xff" + text.read_bytes()), "utf-8"),
            (lambda text: cut(text.with_suffix(".npy")), "file"),
            (lambda text: text.with_suffix(".npy").write_bytes(b""), "magic string"),
            (lambda text: text.with_suffix(".npy").write_bytes(b"<html>not found</html>"), "magic string"),
            (lambda text: np.save(text.with_suffix(".npy"), np.array([{}] * 5)), "objects"),
            (lambda text: np.save(text.with_suffix(".npy"), np.ones((5, 3), int)), r"type int64"),
            (lambda text: np.save(text.with_suffix(".npy"), np.ones(5, "f4")), r"shape \(5,\)"),
        ],
    )
    def test_half_a_file_or_another(self, files, damage, told):
        damage(files)
        with pytest.raises(BackendError, match=rf"cannot be used \(.*{told}.*\)\. Copy or download both"):
            Ngrams(files)

    @pytest.mark.parametrize("missing", ["postcache.txt", "postcache.npy"])
    def test_one_file_alone(self, files, missing):
        (files.parent / missing).unlink()
        with pytest.raises(BackendError, match=r"no n-gram cache at .*postcache\.txt and postcache\.npy"):
            Ngrams(files.parent)

    def test_several_in_one_folder(self, files):
        for suffix in (".txt", ".npy"):
            (files.parent / f"mine{suffix}").write_bytes(files.with_suffix(suffix).read_bytes())
        with pytest.raises(BackendError, match=r"Name one of the files mine\.txt, postcache\.txt"):
            Ngrams(files.parent)
        assert len(Ngrams(files)) == 5

    def test_another_clip(self, files):
        class Other(FakeEncoder):
            def encode_texts(self, texts):
                return -super().encode_texts(texts)

        Ngrams(files).check_model(FakeEncoder(), model="ViT-B-16", pretrained="openai")
        with pytest.raises(BackendError, match=r"other weights of ViT-B-32.*clip=ViT-B-16"):
            Ngrams(files).check_model(Other(), model="ViT-B-32", pretrained="openai")

    def test_words_before_each_ngram_are_the_same_clip(self, files):
        """The authors' builder has the option `prefix`, and the file does not say what it was."""
        vectors = np.load(files.with_suffix(".npy"))
        other = FakeEncoder().encode_texts([f"a photo of {one}" for one in self.TEXTS])
        np.save(files.with_suffix(".npy"), 0.8 * vectors + 0.6 * other)
        Ngrams(files).check_model(FakeEncoder(), model="ViT-B-16", pretrained="openai")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
