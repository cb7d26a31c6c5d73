"""The last value that a study file may hold, and the first that it may not."""

import pytest

from annotation.studies.errors import StudyFileError
from annotation.studies.study_file.reading import read_study_text
from tests.annotation.studies.test_study_file import MORE, SHOWN

PREVALENCE = 'kind = "prevalence"'
SET = 'image_set = "sd14"'
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
        ("visual_rule = 2", "visual_rule = 1", "visual_rule = 0", "not a whole number"),
        ("threshold = 1", "threshold = 32767", "threshold = 0", "not a whole number"),
        ("break_after = 10", "session_cap = 1", "session_cap = 0", "not a whole number"),
        (PREVALENCE, f"{PREVALENCE}\noverlap = 1", f"{PREVALENCE}\noverlap = 0", "not a whole number"),
        (PREVALENCE, f"{PREVALENCE}\noverlap = 100", f"{PREVALENCE}\noverlap = 101", "not a whole number"),
        (SET, f"{SET}\npage_size = 20", f"{SET}\npage_size = 21", "not a whole number"),
        (
            f"{SET}\n{SHOWN}\n",
            f"{SET}\npage_size = 3\n{SHOWN}\n",
            f"{SET}\npage_size = 2\n{SHOWN}\n",
            "of 1 to 1",
        ),
        (PAGE, PAGE, 'shown = ["hat", "Hat"]\nexpected = []', "is not a list of 1 to 4 different"),
        ('name = "pilot"', 'name = "p-1_lot"', 'name = "pi--lot"', "may contain only lowercase letters"),
        ('"pilot"', f'"{"x" * 80}"', f'"{"x" * 81}"', "longer than 80 characters"),
        ('"sd14"', f'"{"x" * 80}"', f'"{"x" * 81}"', "longer than 80 characters"),
        ('"studies@example.org"', f'"{"x" * 200}"', f'"{"x" * 201}"', "longer than 200 characters"),
        ('"Away?"', f'"{"x" * 300}"', f'"{"x" * 301}"', "longer than 300 characters"),
        ('"diaspora"', f'"{"x" * 30}"', f'"{"x" * 31}"', "longer than 30 characters"),
        ('attribute = "kind"', f'attribute = "{"x" * 200}"', f'attribute = "{"x" * 201}"', "longer than 200"),
        ('group = "Thai"', f'group = "{"x" * 120}"', f'group = "{"x" * 121}"', "longer than 120 characters"),
        ('"PID"', '"P.I-D_1"', '"P/ID"', "is not a valid name of a URL parameter"),
        ('"https:', '"http:', '"ftp:', "is not a full URL"),
    ],
)
def test_the_last_is_read_and_the_next_is_refused(old, most, beyond, message):
    assert old in MORE
    read_study_text(MORE.replace(old, most))
    with pytest.raises(StudyFileError, match=message):
        read_study_text(MORE.replace(old, beyond))
