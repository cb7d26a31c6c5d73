"""Reading study files: what is accepted, and that every refusal names the file, the key and the cure."""

import re
from pathlib import Path

import pytest

import annotation.studies.study_file
from annotation.studies.errors import StudyFileError
from annotation.studies.study_file.reading import StudyFile, read_study_file, read_study_text
from annotation.studies.study_file.stimuli import GroupDraw, PageDraw, SourceDraw
from annotation.studies.study_file.writing import study_toml

WHOLE = """
name = "pilot"
title = "A pilot"
contact = "studies@example.org"
leads = ["maria"]
visual_rule = 2

[consent]
text = "What taking part means."
content_warning = "Some words are hurtful."

[stereotypes]
source = "seegull-v2"
pool = "in"
threshold = 1

[[tasks]]
kind = "visual_nature"
strata = ["origin: Asia", "origin:  Europe", "any"]
seed = 11
attributes = ["Sombrero ", "dark  skin"]
"""


def written(tmp_path, text: str):
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(tmp_path, text: str) -> str:
    path = written(tmp_path, text)
    with pytest.raises(StudyFileError) as error:
        read_study_file(path)
    assert str(error.value).startswith(f"{path}: ")
    return str(error.value).removeprefix(f"{path}: ")


def test_a_whole_file_is_read_and_normalised(tmp_path):
    study = read_study_file(written(tmp_path, WHOLE))

    assert (study.name, study.title, study.leads) == ("pilot", "A pilot", ("maria",))
    assert (study.stereotype_source, study.stereotype_pool, study.stereotype_threshold) == (
        "seegull-v2",
        "in",
        1,
    )
    assert study.visual_rule == 2
    (task,) = study.tasks
    assert task.attributes == ("sombrero", "dark skin")
    assert task.strata == ("origin: Asia", "origin: Europe", "any")
    assert task.seed == 11
    assert task.wording == "The attribute '[attr]' can be visually depicted in an image."


@pytest.mark.parametrize(("said", "read"), [("1", 1.0), ("3.67", 3.67), ("5.0", 5.0)])
def test_the_rule_of_visual_nature_can_be_a_mean_score(tmp_path, said, read):
    study = read_study_file(written(tmp_path, WHOLE.replace("visual_rule = 2", f"visual_mean = {said}")))
    assert (study.visual_rule, study.visual_mean) == (None, read)


@pytest.mark.parametrize(
    ("line", "read"),
    [("", "clustered"), ('intervals = "clustered"', "clustered"), ('intervals = "bootstrap"', "bootstrap")],
)
def test_intervals_are_clustered_unless_the_bootstrap_is_chosen(tmp_path, line, read):
    text = WHOLE.replace("visual_rule = 2", f"visual_rule = 2\n{line}")
    assert read_study_file(written(tmp_path, text)).intervals == read


def test_without_strata_three_answers_of_anybody_are_wanted(tmp_path):
    text = WHOLE.replace('strata = ["origin: Asia", "origin:  Europe", "any"]', "")
    assert read_study_file(written(tmp_path, text)).tasks[0].strata == ("any",) * 3
    both = read_study_text(WHOLE.replace("seed = 11", "overlap = 3"))
    assert both.tasks[0].strata == ("origin: Asia", "origin: Europe", "any")


def test_attributes_can_be_drawn_from_a_source(tmp_path):
    text = WHOLE.replace('["Sombrero ", "dark  skin"]', '{ source = "seegull-v2", limit = 200 }')
    assert read_study_file(written(tmp_path, text)).tasks[0].attributes == SourceDraw("seegull-v2", 200)


def test_attributes_can_stand_in_a_list_beside_the_file(tmp_path):
    (tmp_path / "words.txt").write_text("\ufeffHat\n\nTurban\n", encoding="utf-8")
    text = WHOLE.replace('["Sombrero ", "dark  skin"]', '{ file = "words.txt" }')
    assert read_study_file(written(tmp_path, text)).tasks[0].attributes == ("hat", "turban")
    for wrong, said in (
        ("Hat\n\nhat\n", "'hat' appears twice (line 1 and line 3)"),
        ("Hat\na\0b\n", "line 2: 'a\0b...' is not a valid attribute"),
    ):
        (tmp_path / "words.txt").write_text(wrong, encoding="utf-8")
        assert said in refusal(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A pilot"', "", 'title is missing. Add it, e.g. title = "...".'),
        ('title = "A pilot"', "title = 3", "title = 3 is not text. Put it in quotation marks."),
        (
            'title = "A pilot"',
            'titel = "A pilot"\ntitle = "A"',
            "there is no key 'titel'. Did you mean 'title'?",
        ),
        ('name = "pilot"', 'name = "Pilot 1"', "name = 'Pilot 1' may contain only lowercase letters"),
        (
            'kind = "visual_nature"',
            'kind = "looking"',
            "tasks[1].kind = 'looking' is none of: visual_nature, prevalence",
        ),
        ("seed = 11", "seed = -1", "tasks[1].seed = -1 is not a whole number from 0"),
        ("seed = 11", "seed = true", "tasks[1].seed = True is not a whole number"),
        ("seed = 11", "overlap = 2", "tasks[1].overlap = 2 differs from the 3 strata"),
        ("seed = 11", 'associations = { source = "s" }', "there is no key 'tasks[1].associations'"),
        (
            "seed = 11",
            'gold = [{ attribute = "a", expected = 5, group = "b" }]',
            "there is no key 'tasks[1].gold[1].group'",
        ),
        (
            "visual_rule = 2",
            "visual_rule = 4",
            "visual_rule = 4 asks for more answers than tasks[1] collects (3)",
        ),
        (
            "visual_rule = 2",
            "visual_rule = 2\nvisual_mean = 4.0",
            "visual_mean = 4 and visual_rule = 2 are both given. A study has one rule of visual nature",
        ),
        ("visual_rule = 2", "visual_mean = 0.99", "visual_mean = 0.99 is not a number from 1 to 5."),
        ("visual_rule = 2", "visual_mean = 5.01", "visual_mean = 5.01 is not a number from 1 to 5."),
        ("visual_rule = 2", "visual_mean = nan", "visual_mean = nan is not a number from 1 to 5."),
        ("visual_rule = 2", "visual_mean = true", "visual_mean = True is not a number from 1 to 5."),
        ("visual_rule = 2", 'visual_mean = "4"', "visual_mean = '4' is not a number from 1 to 5."),
        ("visual_rule = 2", "visual_mean = 3.667", "visual_mean = 3.667 has more than two decimal places."),
        (
            "visual_rule = 2",
            'intervals = "jackknife"',
            "intervals = 'jackknife' is neither 'clustered' nor 'bootstrap'.",
        ),
        (
            'title = "',
            'title = "\u202e',
            "title: there is an invisible character that turns text around (U+202E",
        ),
        ('contact = "', 'contact = "\u2066', "contact: there is an invisible character"),
        ('pool = "in"', 'pool = "all"', "stereotypes.pool = 'all' is neither 'in' nor 'out'."),
        ('"dark  skin"]', '" SOMBRERO"]', "'sombrero' appears twice (entry 1 and entry 2). Remove one."),
        ('"dark  skin"]', f'"{"x" * 201}"]', "' is not a valid attribute. It may have at most 200 printable"),
        ('["Sombrero ", "dark  skin"]', "[]", "tasks[1].attributes has no attributes."),
        ('["Sombrero ", "dark  skin"]', "7", "tasks[1].attributes is missing."),
        ('["Sombrero ", "dark  skin"]', '{ file = "no.txt" }', "tasks[1].attributes.file = "),
        (
            '["Sombrero ", "dark  skin"]',
            '{ source = "s", limt = 2 }',
            "no key 'tasks[1].attributes.limt'. Did you mean 'limit'?",
        ),
        ("[[tasks]]", '[[tasks]]\nwording = "Can it be seen?"', "does not contain '[attr]'"),
        (
            "[[tasks]]",
            '[[tasks]]\nwording = "[attr], [id]?"',
            "contains '[id]', but this task has no identity",
        ),
        ("[[tasks]]", '[[tasks]]\nexamples = [{ text = "a" }]', "tasks[1].examples[1].answer is missing"),
        ("[[tasks]]", "[[task]]", "there is no [[tasks]] table."),
        ('text = "What taking part means."', "", "consent.text is missing."),
        ("[consent]", "[consent", "is not valid TOML"),
    ],
)
def test_a_fault_is_one_clear_error(tmp_path, old, new, message):
    assert old in WHOLE
    assert message in refusal(tmp_path, WHOLE.replace(old, new))


def test_a_title_may_hold_what_arabic_and_persian_need_and_closed_isolates():
    title = "\u200f\u2068SeeGULL\u2069 \u0645\u06cc\u200c\u0634\u0648\u062f\u200e \u061c"
    assert read_study_text(WHOLE.replace("A pilot", title)).title == title


def test_two_tasks_of_a_kind_are_refused(tmp_path):
    task = WHOLE[WHOLE.index("[[tasks]]") :]
    assert "there are 2 tasks of kind 'visual_nature'" in refusal(tmp_path, WHOLE + task)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with pytest.raises(StudyFileError, match="cannot be read"):
        read_study_file(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes('title = "café"'.encode("latin-1"))
    with pytest.raises(StudyFileError, match="is not UTF-8"):
        read_study_file(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('"A pilot"', '"A\\u0000pilot"', "title"),
        ('"What taking part means."', '"What\\u0000"', "consent.text"),
        ('["maria"]', '["maria\\u0000"]', "leads"),
        ('"origin: Asia"', '"origin: A\\u0000"', "tasks[1].strata"),
        ('["Sombrero ", "dark  skin"]', '{ file = "a\\u0000b" }', "tasks[1].attributes.file"),
        ('["Sombrero ", "dark  skin"]', '{ source = "a\\u0000b" }', "tasks[1].attributes.source"),
    ],
)
def test_a_character_that_no_database_and_no_path_can_hold_is_refused(tmp_path, old, new, key):
    assert old in WHOLE
    said = refusal(tmp_path, WHOLE.replace(old, new))
    assert said.startswith(f"{key} = ")
    assert "NUL" in said


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 20_000 + "]" * 20_000])
def test_toml_that_python_gives_up_on_is_refused_in_words(tmp_path, value):
    assert refusal(tmp_path, f"{WHOLE}\nodd = {value}\n").startswith("is not valid TOML: ")


def test_a_file_saved_with_a_byte_order_mark_is_read(tmp_path):
    assert read_study_file(written(tmp_path, "\ufeff" + WHOLE)).name == "pilot"


def test_a_list_elsewhere_is_read_and_one_that_is_not_there_is_named_in_full(tmp_path):
    """Who may run this command may read the file anyway; what matters is that the message says which."""
    (tmp_path / "studies").mkdir()
    (tmp_path / "list.txt").write_text("Sombrero\n\nhat\n")
    listed = WHOLE.replace('["Sombrero ", "dark  skin"]', '{ file = "../list.txt" }')
    assert read_study_file(written(tmp_path / "studies", listed)).tasks[0].attributes == ("sombrero", "hat")
    said = refusal(tmp_path / "studies", listed.replace("list.txt", "none.txt"))
    assert said.startswith("tasks[1].attributes.file = ")
    assert f"No such file or directory: '{tmp_path / 'studies' / '../none.txt'}'" in said


def test_wrapped_lines_are_joined_and_paragraphs_and_lists_kept(tmp_path):
    text = WHOLE.replace(
        '"What taking part means."',
        '"""\nOne line\n  wrapped.\\r\nOnce.\n\nWe keep:\n- answers\n* times\n• words\n1. one\n2) two\n"""',
    )
    assert (
        read_study_file(written(tmp_path, text)).consent
        == "One line wrapped. Once.\n\nWe keep:\n- answers\n* times\n• words\n1. one\n2) two"
    )


def test_the_examples_of_the_documentation_are_study_files(tmp_path):
    documented = (Path(__file__).parents[3] / "docs" / "studies.md").read_text(encoding="utf-8")
    rating, depiction = (
        read_study_file(written(tmp_path, part.split("```")[0])) for part in documented.split("```toml\n")[1:]
    )
    assert rating.tasks[0].attributes == SourceDraw("seegull-v2", 200)
    assert len(rating.tasks[0].strata) == 3
    assert depiction.tasks[0].pages == PageDraw(visual="visual-2026")
    assert depiction.tasks[0].strata == ("any", "any", "gender: not male")


def test_every_key_of_the_format_is_documented():
    """A key is read by its name in one of these files, and stands in docs/studies.md."""
    readers = Path(annotation.studies.study_file.__file__).parent
    code = "".join(path.read_text(encoding="utf-8") for path in readers.glob("*.py"))
    methods = (
        "text|text_list|prose|integer|optional_integer|optional_decimal|fraction|boolean|raw|table|tables"
    )
    keys = set(re.findall(rf"\.(?:{methods})\(\s*\"(\w+)\"", code))
    documented = (readers.parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    assert len(keys) > 40
    assert sorted(key for key in keys if not re.search(rf"\b{key}\b", documented)) == []


MORE = (
    WHOLE
    + """
[recruitment]
completion_url = "https://example.org/done"

[recruitment.parameters]
participant = "PID"

[quality]
gold_rate = 0.1
training_pass = 0.5

[care]
break_after = 10

[consent.es]
text = "Hola."

[translations.es]
title = "Un piloto"

[[questions]]
field = "diaspora"
label = "Away?"

[[questions]]
field = "craft"
label = "What do you do?"
choices = ["weave", "bake"]

[questions.translations.es]
label = "¿Cuál es su oficio?"
choices = ["tejer", "hornear"]

[[tasks]]
kind = "prevalence"
wording = "Do you know that [id] are [attr]?"
associations = { source = "seegull-v2", pairs = [["Thai", "kind"], ["Lao", "kind"]] }

[tasks.translations.es]
wording = "¿[id] [attr]?"

[[tasks.training]]
group = "Thai"
attribute = "kind"
expected = ["Unsure"]

[[tasks.gold]]
group = "Thai"
attribute = "kind"
expected = ["Unsure"]

[[tasks]]
kind = "depiction"
image_set = "sd14"
attributes = { visual = ["hat", "scarf"] }

[[tasks.gold]]
group = "Thai"
image = 1
shown = ["hat", "scarf"]
expected = []
"""
)
SHOWN = 'attributes = { visual = ["hat", "scarf"] }'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"https://example.org/done"', '"example.org"', "completion_url = 'example.org' is not a full URL"),
        ('"PID"', '"P ID"', "parameters.participant = 'P ID' is not a valid name of a URL"),
        ("gold_rate = 0.1", "gold_rate = 0.6", "gold_rate = 0.6 is not a number from 0 to 0.5"),
        ("training_pass = 0.5", "training_pass = 2", "training_pass = 2 is not a number from 0 to 1"),
        ("break_after = 10", "break_after = -1", "care.break_after = -1 is not a whole number from 0"),
        ("break_after = 10", "blur_images = 1", "care.blur_images = 1 is neither true nor false"),
        ("[consent.es]", "[consent.Spanish]", "'consent.Spanish' is not a language"),
        ("[consent.es]", "[consent.en]", "'consent.en': the texts without a language are the English"),
        ('text = "Hola."', "", "consent.es.text is missing"),
        ('"diaspora"', '"Dia spora"', "questions[1].field = 'Dia spora' may contain"),
        ("[translations.es]", "[translations.ES]", "'translations.ES' is not a language"),
        ("[translations.es]", "[translations.en]", "'translations.en': the texts without a language are the"),
        ('"Un piloto"', '" "', "translations.es.title = '' is empty. Write it in that language"),
        ('title = "Un piloto"', "support_text = ''", "translations.es.support_text = '' is empty"),
        ('title = "Un piloto"', "", "translations.es has no texts. Add one of: title, description"),
        ('"Un piloto"', f'"{"x" * 201}"', "is longer than 200 characters. Shorten it."),
        ('title = "Un piloto', 'title = "Un \u2069piloto', "translations.es.title: there is an invisible"),
        ('"Un piloto"', "3", "translations.es.title = 3 is not text"),
        ('title = "Un piloto"', 'titel = "Un piloto"', "'translations.es.titel'. Did you mean 'title'?"),
        ("[translations.es]", "[translations]", "there is no key 'translations.title'"),
        ("[questions.translations.es]", "[questions.translations.sp!]", "is not valid TOML"),
        ("[questions.translations.es]", "[questions.translations.spanish]", "translations.spanish' is not a"),
        ("[questions.translations.es]", "[questions.es]", "there is no key 'questions[2].es'"),
        ('"¿Cuál es su oficio?"', '""', "questions[2].translations.es.label is missing"),
        ('"¿Cuál es su oficio?"', f'"{"x" * 301}"', "is longer than 300 characters. Shorten it."),
        (
            '["tejer", "hornear"]',
            '["tejer"]',
            "questions[2].translations.es.choices: there are 1, and 2 in English. Give the same",
        ),
        (
            'choices = ["tejer", "hornear"]',
            "",
            "questions[2].translations.es.choices: there are 0, and 2 in English.",
        ),
        ('["tejer", "hornear"]', '["tejer", ""]', "is not a list of texts"),
        (
            'choices = ["weave", "bake"]',
            "",
            "questions[2].translations.es.choices: there are 2, and 0 in English.",
        ),
        ("Do you know that [id] are", "Do you know that they are", "tasks[2].wording = 'Do you know that"),
        (
            '¿[id] [attr]?"',
            '¿[id] [attr]?"\nexamples = [{ text = "a", answer = "b" }]',
            "tasks[2].translations.es.examples: 1 of the 0 examples are translated",
        ),
        ("¿[id] [attr]?", "¿[id]?", "tasks[2].translations.es.wording = '¿[id]?' does not contain '[attr]'"),
        ('"Lao"', '"Thai"', "tasks[2].associations.pairs: ['Thai', 'kind'] appears twice"),
        ("pairs = [[", "limit = 3, pairs = [[", "leave out 'limit' and 'groups'"),
        ('["Lao", "kind"]', '["Lao"]', "is not a list of pairs"),
        ('source = "seegull-v2", pairs', "pairs", "tasks[2].associations.source is missing"),
        ('image_set = "sd14"', "", "tasks[3].image_set is missing"),
        ('image_set = "sd14"', 'image_set = "sd14"\npage_size = 1', "page_size = 1 is not a whole number"),
        ('image_set = "sd14"', 'image_set = "sd14"\nwording = "[attr]?"', "a page shows several attributes"),
        (SHOWN, "", "the table [tasks[3].attributes] is missing"),
        (SHOWN, "attributes = { groups = [] }", "the study that rated which attributes are visual"),
        (SHOWN, f"{SHOWN}\nshown = []", "lists the attributes; leave out 'tasks[3].attributes'"),
        (SHOWN, "shown = []", "tasks[3].shown is empty"),
        (
            SHOWN,
            'shown = [{ group = "Thai", stereotypical = ["hat"], random = ["Hat"] }]',
            "'hat' appears twice",
        ),
        (SHOWN, 'shown = [{ group = "A" }, { group = "A" }]', "has no attributes"),
        ('shown = ["hat", "scarf"]', "shown = []", "gold[1].shown = [] is not a list of 1 to 4"),
        ("expected = []", 'expected = ["cap"]', "gold[1].expected = ['cap'] lists attributes that are not"),
        ("expected = []", "", "gold[1].expected is missing. List those of 'shown' that are right, or []"),
        ('expected = ["Unsure"]', "expected = []", "tasks[2].training[1].expected is missing"),
        ('expected = ["Unsure"]', "expected = [true]", "tasks[2].training[1].expected is missing"),
        ("expected = []", 'expected = []\nfeedback = "x"', "there is no key 'tasks[3].gold[1].feedback'"),
        ("image = 1\n", "", "tasks[3].gold[1].image = 0 is not a whole number"),
        ('source = "seegull-v2"\npool', "pool", "[stereotypes] names none"),
    ],
)  # fmt: skip
def test_a_fault_in_the_other_tables_is_one_clear_error(tmp_path, old, new, message):
    assert old in MORE
    assert message in refusal(tmp_path, MORE.replace(old, new))


def test_checks_must_be_there_where_they_are_asked_for(tmp_path):
    assert "quality.gold_rate mixes in gold items" in refusal(tmp_path, WHOLE + "[quality]\ngold_rate = 0.1")
    assert "quality.training_pass asks for training" in refusal(
        tmp_path, WHOLE + "[quality]\ntraining_pass = 0.1"
    )


def test_an_uploaded_text_cannot_name_files_of_the_server():
    text = WHOLE.replace('["Sombrero ", "dark  skin"]', '{ file = "/etc/passwd" }')
    with pytest.raises(StudyFileError, match="names a file, which an upload cannot include"):
        read_study_text(text)


def test_prevalence_asks_three_in_region_and_three_out_region_if_nothing_else_is_said(tmp_path):
    tasks = read_study_file(written(tmp_path, MORE)).tasks
    assert tasks[1].strata == ("in-region",) * 3 + ("out-region",) * 3
    fewer = MORE.replace('kind = "prevalence"', 'kind = "prevalence"\noverlap = 2')
    assert read_study_file(written(tmp_path, fewer)).tasks[1].strata == ("any", "any")


def test_what_is_judged_is_compared_in_lower_case_and_with_single_spaces():
    text = MORE
    for old, new in (
        ('["Thai", "kind"]', '[" Thai  people", "Very  Kind "]'),
        ('attribute = "kind"', 'attribute = " Very  Kind "'),
        (SHOWN, 'attributes = { visual = "none" }'),
        ('shown = ["hat", "scarf"]\nexpected = []', 'shown = ["Hat", "scarf"]\nexpected = ["HAT"]'),
    ):
        assert old in text
        text = text.replace(old, new)
    _rating, prevalence, depiction = read_study_text(text).tasks
    assert prevalence.associations.pairs[0] == ("Thai people", "very kind")
    assert {check.attribute for check in prevalence.checks} == {"very kind"}
    assert depiction.pages == PageDraw(visual=None)
    assert [(check.shown, check.expected) for check in depiction.checks] == [(("hat", "scarf"), ("hat",))]
    listed = 'shown = [{ group = "Thai", stereotypical = ["Big  Hat"], random = ["SCARF"] }]'
    assert read_study_text(MORE.replace(SHOWN, listed)).tasks[2].pages == {
        "Thai": GroupDraw(("big hat",), ("scarf",))
    }


def test_what_a_file_leaves_out_has_its_default_and_is_left_out_again():
    required = 'name = "p"\ntitle = "P"\ncontact = "c"\n[consent]\ntext = "t"\n'
    study = read_study_text(f'{required}[[tasks]]\nkind = "visual_nature"\nattributes = ["hat"]\n')
    assert study == StudyFile(
        name="p", title="P", description="", contact="c", leads=(), consent="t", content_warning="",
        stereotype_source=None, stereotype_pool="out", stereotype_threshold=2, visual_rule=None,
        tasks=study.tasks, questions=[], break_after=30, session_cap=None, self_enrol=True,
    )  # fmt: skip
    assert (study.tasks[0].seed, study.tasks[0].page_size, study.tasks[0].people_share) == (0, 5, None)
    assert study_toml(study).partition("[[tasks]]")[0].split() == required.split()
