"""The last value that a study file may hold, and the first that it may not."""

import pytest

from annotation.studies.errors import StudyFileError
from annotation.studies.study_file.reading import read_study_text
from tests.annotation.studies.test_study_file import MORE, SHOWN

PAGE = 'shown = ["hat", "scarf"]\nexpected = []'


def page_of(number: int) -> str:
    return f"shown = {[f'w{each}' for each in range(number)]}\nexpected = []"


@pytest.mark.parametrize(
    ("old", "most", "beyond", "message"),
    [
        ("visual_rule = 2", "visual_rule = 3", "visual_rule = 4", "asks for more answers"),
        ('"A pilot"', f'"{"x" * 200}"', f'"{"x" * 201}"', "longer than 200 characters"),
        ('"dark  skin"', f'"{"x" * 200}"', f'"{"x" * 201}"', "not a valid attribute"),
        ("gold_rate = 0.1", "gold_rate = 0.5", "gold_rate = 0.51", "not a number from 0 to 0.5"),
        ("break_after = 10", "break_after = 0", "break_after = 0.5", "not a whole number"),
        ("break_after = 10", "break_after = 32767", "break_after = 32768", "not a whole number"),
        (PAGE, page_of(4), page_of(5), "not a list of 1 to 4"),
        (SHOWN, SHOWN, 'attributes = { visual = " " }', "the study that rated which attributes are visual"),
        ("pairs = [[", "pairs = [[", 'groups = ["Thai"], pairs = [[', "leave out 'limit' and 'groups'"),
        ("[consent.es]", "[consent.es-abcdefg]", "[consent.es-abcdefgh]", "is not a language code"),
        ("[[tasks.gold]]", "[[tasks.attention]]", "[[tasks.training]]", "mixes in gold items"),
    ],
)
def test_the_last_is_read_and_the_next_is_refused(old, most, beyond, message):
    assert old in MORE
    read_study_text(MORE.replace(old, most))
    with pytest.raises(StudyFileError, match=message):
        read_study_text(MORE.replace(old, beyond))
