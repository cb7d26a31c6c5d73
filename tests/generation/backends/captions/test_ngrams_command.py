"""manage.py ngrams: what it says of the cache it made, and what it refuses."""

import pytest
from django.core.management import CommandError, call_command

from generation.backends.ngrams import Ngrams

TEXT = "An old man in a hat.\nA woman in a sari\n" * 2


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def test_it_tells_what_it_made(text, tmp_path, capsys):
    call_command("ngrams", text, text, out=tmp_path / "out", backend="fake")
    told = capsys.readouterr()
    cache = Ngrams(tmp_path / "out")
    assert f"{len(cache):,} n-grams" in told.out
    assert "49 numbers of float16" in told.out
    assert len(cache.manifest.sources) == 2
    assert told.err.splitlines() == [
        f"reading: {2 * len(TEXT)} of {2 * len(TEXT)}",
        f"encoding: {len(cache)} of {len(cache)}",
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"backend": "gpt", "model": "g"}, "no backend 'gpt' for embeddings"),
        ({"min_count": 0}, "--min-count 0: choose 1 or more"),
        ({"min_count": 50}, "No n-gram occurs 50 times"),
        ({"dtype": "float8"}, "recipe: dtype"),
    ],
)
def test_what_it_refuses(text, tmp_path, given, told):
    with pytest.raises(CommandError, match=told):
        call_command("ngrams", text, **{"out": tmp_path / "out", "backend": "fake", **given})
    assert not (tmp_path / "out").exists()


def test_a_text_that_is_not_there_is_named(text, tmp_path):
    why = r"missing\.txt cannot be read: No such file or directory\. Name a text file"
    with pytest.raises(CommandError, match=why):
        call_command("ngrams", text, tmp_path / "missing.txt", out=tmp_path / "out", backend="fake")
