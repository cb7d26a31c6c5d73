"""Tables of answers in the authors' layout become runs of associations, or nothing at all."""

import csv
import io

import pytest
from django.core.management import CommandError, call_command

from annotation.models import IdentityGroup
from generation.models import Answer, Job, Run, RunKind, RunState
from metrics.associations.answers_csv import name_in_id
from metrics.associations.askings import LETTERS, Setting
from metrics.associations.evaluation import evaluate
from metrics.associations.services.importing import import_associations
from tests import factories

pytestmark = pytest.mark.django_db

COLUMNS = ["bias_type", "template", *(f"answer_{letter}" for letter in LETTERS), "run", "seed"]


def row(template, run, *, bias_type="age", seed=7, **answers):
    """A row of words: every answer is its letter and -x, or as given."""
    cells = [answers.get(letter, f"{letter}-x") for letter in LETTERS]
    return [bias_type, template, *cells, run, seed]


def write(path, *rows, columns=COLUMNS):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def load(path, modality="t2t", setting="singular", **options):
    out = io.StringIO()
    call_command(
        *("import_answers", path),
        layout="biasdora",
        modality=modality,
        setting=setting,
        **{"model": "org/llama-3", **options},
        stdout=out,
    )
    return out.getvalue()


def refused(path, **options):
    with pytest.raises(CommandError) as caught:
        load(path, **options)
    for kind in (Run, Job, Answer, IdentityGroup):
        assert not kind.objects.exists()
    return str(caught.value)


def test_every_cell_of_words_is_an_answer_of_its_run(tmp_path):
    table = write(
        tmp_path / "t.csv",
        row("An old person is", 1, b="", c="The answer is [Calm]."),
        row("A chinese is ", 1, bias_type="nationality", seed=""),
        row("An old person is", 1, a="again"),
        # another order in the second run, and a row less
        row("A chinese is ", 2, bias_type="Nationality"),
        row("An old person is", 2, seed=8),
    )
    said = load(table)
    run = Run.objects.get()
    assert "129 answers imported" in said
    assert (run.name, run.kind, run.state) == ("t2t-singular-llama-3", RunKind.COMPLETIONS, RunState.DONE)
    design = run.recipe["design"]
    assert (design["purpose"], design["settings"], design["answers"]) == (
        *("associations", ["t2t-singular"], "words"),
    )
    assert "temperature" not in run.recipe  # nobody knows it

    def answer(key, number):
        job = run.jobs.select_related("group").get(key=f"t2t-singular/{key}", number=number)
        return job, Answer.objects.get(job=job).text

    assert not run.jobs.filter(key="t2t-singular/1/b", number=1).exists()
    job, text = answer("1/c", 1)
    assert (job.prompt, job.seed, job.group.name, text) == (
        *("An old person is [c__].", 7, "old person", "The answer is [Calm]."),
    )
    assert answer("3/a", 1)[1] == "again"  # a row that stands twice has a number of its own
    job, _text = answer("2/z", 2)
    assert (job.prompt, job.group.axis) == ("A chinese is [z__].", "nationality")
    assert answer("1/a", 2)[0].seed == 8
    assert answer("2/a", 1)[0].seed is None
    [setting] = evaluate(run).settings()
    assert (setting.setting, setting.facts["documents"]) == ("t2t-singular", 5)
    assert "Nothing to do" in load(table)
    assert Answer.objects.count() == 129
    with pytest.raises(CommandError, match="already a run"):
        load(write(tmp_path / "other.csv", row("An old person is", 1)))


def test_runs_may_be_counted_from_0(tmp_path):
    load(write(tmp_path / "t.csv", row("An old person is", 0), row("An old person is", "1.0")))
    assert set(Job.objects.values_list("number", flat=True)) == {1, 2}
    Run.objects.all().delete()
    rows = [[f"a_target_teen_{number}.png", "A boy.", number] for number in (0, 1)]
    texts = write(tmp_path / "texts.csv", *rows, columns=["id", "generated_output", "run"])
    load(texts, modality="i2t", setting="lexical")
    assert set(Job.objects.values_list("number", flat=True)) == {1, 2}


def test_the_run_is_of_whoever_imported_it_and_has_the_settings_that_are_known(tmp_path):
    table, who = write(tmp_path / "t.csv", row("An old person is", 1)), factories.user()
    run = import_associations(
        path=table, setting=Setting.SINGULAR, model="m", by=who, settings={"temperature": 0.5}
    ).run
    assert (run.created_by, run.recipe["temperature"]) == (who, 0.5)
    assert "groups" not in run.recipe["design"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"run": "one"}, "row 3: column 'run': 'one' is no whole number"),
        ({"bias_type": "height"}, "row 3: column 'bias_type': 'height' is no dimension"),
        ({"template": "This is"}, "row 3: column 'template'"),
        ({"seed": "-1"}, "row 3: column 'seed'"),
    ],
)
def test_a_wrong_row_refuses_the_file(tmp_path, change, says):
    wrong = dict(zip(COLUMNS, row("A teen is", 1), strict=True)) | change
    assert says in refused(write(tmp_path / "t.csv", row("An old person is", 1), [*wrong.values()]))


def test_a_file_or_setting_that_cannot_be_is_refused(tmp_path):
    shorter = write(tmp_path / "t.csv", row("An old person is", 1)[:-2], columns=COLUMNS[:-2])
    assert "there is no column 'run'" in refused(shorter)
    blank = row("An old person is", 1, **dict.fromkeys(LETTERS, ""))
    assert "There are no answers" in refused(write(tmp_path / "t.csv", blank))
    assert "of t2t there are singular" in refused(shorter, setting="odd")
    assert "--modality and --setting" in refused(shorter, setting=None)
    assert "there is no column 'id'" in refused(shorter, modality="i2t", setting="lexical")


def test_texts_belong_to_the_groups_that_their_image_names(tmp_path):
    factories.group("Asian person", axis="race_colour")
    IdentityGroup.objects.create(name="asian person", axis="nationality", demonym="x")
    listed = tmp_path / "list.csv"
    listed.write_text(
        "dimension,singular,plural\ngender,grandmother,\nage,grandmother,\nage,elder,elder people\n"
    )
    table = write(
        tmp_path / "t.csv",
        ["id_0_target_asian_person_3.png", "A man, smiling.", ""],
        ["x_target_grandmother_natural_1.png", "A woman.", ""],
        ["id_2_target_stranger_1.png", "Somebody.", ""],
        ["id_3_target_stranger_1.png", "  ", ""],
        ["id_4_target_teen_1.png", "A boy.", "Age"],
        ["id_5_target_elder_people_1.png", "A man.", ""],
        columns=["id", "generated_output", "bias_type"],
    )
    load(table, modality="t2i", descriptors=listed)
    run = Run.objects.get()
    assert (run.name, run.kind) == ("t2i-singular-llama-3", RunKind.DESCRIPTIONS)
    jobs = run.jobs.select_related("group").order_by("pk")
    assert [(job.key, job.group.name, job.group.axis) for job in jobs] == [
        ("t2i-singular/1", "asian person", "nationality"),
        ("t2i-singular/2", "grandmother", "age"),
        ("t2i-singular/3", "stranger", "other"),
        ("t2i-singular/5", "teen", "age"),
        ("t2i-singular/6", "elder", "age"),
    ]
    several = IdentityGroup.objects.filter(name__iregex="asian person|grandmother")
    assert run.recipe["design"]["groups"] == sorted(several.values_list("pk", flat=True))
    assert {*run.recipe["design"]["groups"]} <= {*evaluate(run).groups}
    assert Answer.objects.filter(run=run).first().extra == {"image": "id_0_target_asian_person_3.png"}
    # the catalogue grows, and the file is the same
    factories.group("stranger2", axis="age")
    IdentityGroup.objects.create(name="grandmother", axis="religion", demonym="x")
    assert "Nothing to do" in load(table, modality="t2i", descriptors=listed)


def test_names_in_ids():
    found = {
        "id_0_target_old_person_3.png": "old person",
        "a_target_child_natural_1024_2.png": "child",
        "a_target_child_vivid.png": "child",
        "folder/a_target_person_30_years_3.jpeg": "person 30 years",
        "old_person_12.png": "old person",
        "old_person": "old person",
    }
    assert {image: name_in_id(image) for image in found} == found


def test_texts_name_the_wrong_row(tmp_path):
    columns = ["id", "generated_output", "bias_type"]
    table = write(tmp_path / "t.csv", ["_1.png", "x", ""], ["a_target_b", "x", "height"], columns=columns)
    said = refused(table, modality="i2t", setting="subjective")
    assert "row 2: column 'id'" in said
    assert "row 3: column 'bias_type': 'height'" in said
