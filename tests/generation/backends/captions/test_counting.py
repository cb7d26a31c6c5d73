"""Counting n-grams: which there are, in constant memory, from any UTF-8 text."""

import tracemalloc
from collections import Counter

import pytest

from generation.backends import counting
from generation.backends.counting import TextRefused, count_ngrams, most_frequent


def counts(tmp_path, *texts, max_n=3, max_in_memory=counting.MAX_IN_MEMORY, **chosen_by):
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
    into = tmp_path / "counted"
    into.unlink(missing_ok=True)
    sources = count_ngrams(files, into=into, max_n=max_n, max_in_memory=max_in_memory)
    return dict(most_frequent(into, **{"min_count": 1, "limit": None, **chosen_by})), sources


def test_words_that_follow_each_other(tmp_path):
    found, _ = counts(tmp_path, "An old man\n")
    assert found == {"an": 1, "old": 1, "man": 1, "an old": 1, "old man": 1, "an old man": 1}


@pytest.mark.parametrize(
    "text",
    ["man. Old", "man, old", "man\nold", "man\r\nold", "man (old", "man – old", "man | old", "man_old"],
)
def test_nothing_is_joined_over_punctuation_or_lines(tmp_path, text):
    assert counts(tmp_path, text)[0] == {"man": 1, "old": 1}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("O'Neill's", "o'neill's"),
        ("well-dressed", "well-dressed"),
        ("ÉTUDIANT", "étudiant"),
        ("e\u0301tudiant", "étudiant"),  # the accent as a letter of its own
        ("महिला", "महिला"),
        ("2024", "2024"),
        ("\ufeffman", "man"),
    ],
)
def test_what_a_word_is(tmp_path, text, word):
    assert counts(tmp_path, text)[0] == {word: 1}


def test_links_and_hashes_are_no_words_and_join_nothing(tmp_path):
    assert counts(tmp_path, f"man {'x' * 41} old")[0] == {"man": 1, "old": 1}


def test_max_n(tmp_path):
    assert set(counts(tmp_path, "a b c d", max_n=2)[0]) == {"a", "b", "c", "d", "a b", "b c", "c d"}


def test_files_are_counted_together_and_named(tmp_path):
    found, sources = counts(tmp_path, "old man", "old man, old", max_n=1)
    assert found == {"old": 3, "man": 2}
    assert [(one.name, one.bytes, one.words) for one in sources] == [("0.txt", 7, 2), ("1.txt", 12, 3)]
    assert sources[0].sha256 != sources[1].sha256


def test_what_memory_has_no_room_for_is_counted_the_same(tmp_path):
    words = [f"w{number * number % 97}" for number in range(2000)]
    text = "\n".join(" ".join(words[start : start + 7]) for start in range(0, 2000, 7))
    whole = counts(tmp_path, text)[0]
    assert counts(tmp_path, text, max_in_memory=11)[0] == whole
    assert list(whole) == sorted(whole)
    assert whole["w0"] == Counter(words)["w0"]
    assert {path.name for path in tmp_path.iterdir()} == {"0.txt", "counted"}


def test_memory_does_not_grow_with_the_text(tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "_BLOCK_BYTES", 4096)

    def once(text):
        (tmp_path / "text").write_text(text)
        (tmp_path / "counted").unlink(missing_ok=True)
        tracemalloc.start()
        count_ngrams([tmp_path / "text"], into=tmp_path / "counted", max_n=3, max_in_memory=500)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    def peak(lines):
        text = "\n".join(f"w{number} x{number * 7}" for number in range(lines))
        # whatever else this process does meanwhile counts too: it does not each time
        return min(once(text) for _ in range(3))

    few = peak(2000)
    assert peak(8000) < few * 1.5


def test_a_line_of_several_blocks_is_cut_between_words(tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "_BLOCK_BYTES", 64)
    assert counts(tmp_path, "grüße welt " * 50, max_n=1)[0] == {"grüße": 50, "welt": 50}


@pytest.mark.parametrize(("ending", "known"), [(b"", "tail"), (b"\n", "tail")])
def test_the_last_line_counts_with_and_without_an_end(tmp_path, ending, known):
    assert known in counts(tmp_path, b"head\ntail" + ending)[0]


class TestRefused:
    @pytest.mark.parametrize("bad", [b"\xe9t\xe9", b"ok\n\xff\xfe", "man".encode("utf-16")])
    def test_no_utf8(self, tmp_path, bad):
        with pytest.raises(TextRefused, match=r"0\.txt is not UTF-8 text .*Save it as UTF-8"):
            counts(tmp_path, bad)

    def test_no_words(self, tmp_path, monkeypatch):
        monkeypatch.setattr(counting, "_BLOCK_BYTES", 64)
        with pytest.raises(TextRefused, match=r"0\.txt has 128 bytes with no space"):
            counts(tmp_path, b"a" * 300)

    def test_no_file(self, tmp_path):
        with pytest.raises(TextRefused, match="nothing cannot be read: No such file"):
            count_ngrams([tmp_path / "nothing"], into=tmp_path / "counted", max_n=3)

    def test_a_folder(self, tmp_path):
        with pytest.raises(TextRefused, match="cannot be read: Is a directory"):
            count_ngrams([tmp_path], into=tmp_path / "counted", max_n=3)


class TestChosen:
    TEXT = "d d d\nb b\na a\nc c\ne\n"

    @pytest.mark.parametrize(
        ("min_count", "limit", "kept"),
        [
            (1, None, "a b c d e"),
            (2, None, "a b c d"),
            (3, None, "d"),
            (4, None, ""),
            (1, 1, "d"),
            (1, 3, "a b d"),  # of a, b and c, seen equally often, the alphabetically first two
            (2, 99, "a b c d"),
        ],
    )
    def test_the_most_frequent_in_alphabetical_order(self, tmp_path, min_count, limit, kept):
        found, _ = counts(tmp_path, self.TEXT, max_n=1, min_count=min_count, limit=limit)
        assert " ".join(found) == kept
