"""Columns of a query as texts (metrics/core/text_columns.py): what stands in them comes back as it was."""

import subprocess
import sys

import pytest

from annotation.models import Attribute, Response
from metrics.core import text_columns
from metrics.depiction.data import read_depiction
from tests.metrics.cast import depiction_study

pytestmark = pytest.mark.django_db


def test_numbers_and_texts_come_back_in_step():
    words = ["a,b", "two\nlines", "não", "quote 'em", "0"]
    made = {Attribute.objects.create(text=text).pk: text for text in words}
    (keys,), (read,) = text_columns.read_integers_and_texts(
        Attribute.objects.filter(pk__in=made), ("pk",), ("text",)
    )
    texts = [read.texts[number] for number in read.numbers]
    assert dict(zip(keys.tolist(), texts, strict=True)) == made


def test_no_rows_are_no_numbers():
    (keys,), (read,) = text_columns.read_integers_and_texts(
        Attribute.objects.filter(text="none"), ("pk",), ("text",)
    )
    assert (keys.tolist(), read.numbers.tolist(), read.texts) == ([], [], [])


def test_texts_are_numbered_in_the_order_in_which_they_first_occur():
    read = text_columns._numbered("\x1e".join(["b", "a", "b", ""]))
    assert (read.numbers.tolist(), read.texts) == ([0, 1, 0, 2], ["b", "a", ""])


def test_a_response_that_says_nothing_is_one_of_the_responses_wherever_it_stands():
    study = depiction_study()
    first = Response.objects.filter(unit__image__group__name="Mexican").earliest("pk")
    before = {frame.group: len(frame.answers) for frame in read_depiction(study, by_response=True)}
    first.judgements.all().delete()
    (frame,) = (one for one in read_depiction(study, by_response=True) if one.group == "Mexican")
    assert len(frame.answers) == before["Mexican"]
    assert (frame.n[frame.answers].sum(axis=1) == 0).sum() == 1


@pytest.mark.processes
def test_numbering_texts_loads_no_pandas():
    """It takes longer than the answers of a small study."""
    number = "from metrics.core import text_columns; text_columns._numbered('a')"
    code = f"import sys; {number}; sys.exit('pandas' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
