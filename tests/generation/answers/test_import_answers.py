"""Answers from elsewhere: all of a file or nothing, once, with what is known of how they were made."""

from __future__ import annotations

import gzip
import json
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.core.leases import JobState
from annotation.models import AuditEvent
from generation.answers.services import imported_runs
from generation.models import Answer, Job, Run, RunState
from generation.recipes.recipes import digest_of, from_json
from generation.runs import services as runs
from generation.runs.errors import RunRefused
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def write(tmp_path):
    def write(content, name="answers.jsonl"):
        path = tmp_path / name
        if isinstance(content, list):
            content = "".join(json.dumps(one) + "\n" for one in content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def load(path, kind="completions", name="elsewhere", **options):
    out = StringIO()
    call_command("import_answers", path, kind=kind, name=name, **{"model": "gpt-x", **options}, stdout=out)
    return out.getvalue()


def refused(path, **options):
    with pytest.raises(CommandError) as caught:
        load(path, **options)
    for kind in (Run, Job, Answer, AuditEvent):
        assert not kind.objects.exists()
    return str(caught.value)


TWO = [{"prompt": "Tell me.", "text": "Yes"}, {"prompt": "Tell me.", "text": ""}]


def test_a_run_that_is_made_has_a_name(write):
    assert refused(write(TWO), name=None) == "--name is missing: name the run that is made."


@pytest.mark.parametrize(("letters", "accepted"), [(200, True), (201, False)])
def test_the_name_of_a_model_has_at_most_200_letters(write, letters, accepted):
    if accepted:
        load(write(TWO), model="m" * letters)
    else:
        assert "name the model that answered" in refused(write(TWO), model="m" * letters)


def test_tokens_are_counted_in_their_own_run(write):
    load(write(TWO), name="before")
    load(write([{"prompt": "Hello", "text": "Hi", "tokens_in": 5, "tokens_out": 7}]))
    assert list(Run.objects.order_by("pk").values_list("tokens_in", "tokens_out")) == [(0, 0), (5, 7)]


def test_every_field_of_a_line_arrives(write):
    line = {
        "prompt": "Wie geht’s?\nUnd?",
        "text": "Gut \U0001f600\u2028",
        "key": "greeting",
        "sample": 3,
        "seed": 2**63 - 1,
        "finish_reason": "length",
        "tokens_in": 5,
        "tokens_out": 7,
        "seconds": 0.25,
        "image": "kept.png",
        "logprobs": [{"a": 1.5}, None, True],
    }
    said = load(write([line, *TWO]), temperature=0.7, system="Be kind.", stop=["\n"], option=["api=v2"])
    assert "3 answers imported" in said
    run = Run.objects.get()
    assert (run.kind, run.name, run.backend, run.state) == ("completions", "elsewhere", "imported", "done")
    assert (run.tokens_in, run.tokens_out, run.model) == (5, 7, "gpt-x")
    answer = Answer.objects.select_related("job").earliest("pk")
    job = answer.job
    assert (job.prompt, job.key, job.number, job.seed) == (line["prompt"], "greeting", 3, 2**63 - 1)
    assert (job.state, answer.text, answer.ended) == (JobState.DONE, line["text"], "length")
    assert (answer.tokens_in, answer.tokens_out, answer.seconds) == (5, 7, 0.25)
    assert answer.extra == {"image": "kept.png", "logprobs": line["logprobs"]}
    known = {key: run.recipe[key] for key in ("model", "temperature", "system", "stop", "options")}
    assert known == {
        "model": "gpt-x",
        "temperature": 0.7,
        "system": "Be kind.",
        "stop": ["\n"],
        "options": {"api": "v2"},
    }
    # what nobody said is not made up
    assert not {"top_p", "max_tokens", "times", "seed", "chat"} & set(run.recipe)
    assert from_json(run.recipe).model == "gpt-x"
    assert run.recipe_hash == digest_of(run.recipe, image_set="", name=run.name)
    assert (run.made_with[0]["model"], run.made_with[0]["file"]) == ("gpt-x", "answers.jsonl")
    assert AuditEvent.objects.get().details["rows"] == 3


def test_answers_to_the_same_prompt_are_numbered(write):
    lines = [
        {"prompt": "a", "text": "1"},
        {"prompt": "b", "text": "1"},
        {"prompt": "a", "text": "2"},
        {"prompt": "a", "text": "3"},
    ]
    load(write(lines))
    rows = Job.objects.order_by("pk").values_list("prompt", "number", "answer__text")
    assert list(rows) == [("a", 1, "1"), ("b", 1, "1"), ("a", 2, "2"), ("a", 3, "3")]
    assert len(set(Job.objects.values_list("key", flat=True))) == 2


CSV = 'prompt,text,number,model_id\n"Say, ""hi""","two\nlines",2,m1\nb,,,\n\n'


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (CSV, "a.csv"),
        (CSV, "a.txt"),
        ("\ufeff" + CSV.replace("\n", "\r\n"), "a.csv"),
        (gzip.compress(CSV.encode(), mtime=0), "a.csv.gz"),
        (gzip.compress(CSV.encode(), mtime=0), "a"),
    ],
)
def test_a_csv_file_is_read_as_spreadsheets_write_it(write, content, name):
    load(write(content, name))
    first, second = Answer.objects.order_by("pk").select_related("job")
    assert (first.job.prompt, first.job.number, first.extra) == ('Say, "hi"', 2, {"model_id": "m1"})
    assert first.text.split() == ["two", "lines"]
    assert (second.job.prompt, second.text, second.job.number) == ("b", "", 1)


def test_a_packed_csv_file_is_known_by_its_name_whatever_it_begins_with(write):
    load(write(gzip.compress(b"[mine],prompt,text,number\n1,a,b,1\n", mtime=0), "a.csv.gz"))
    assert Answer.objects.get().extra == {"[mine]": "1"}


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a", "a.jsonl.gz"])
def test_json_lines_are_known_by_name_or_content(write, name):
    text = "\ufeff\n" + "\n\n".join(json.dumps(one) for one in TWO)
    load(write(gzip.compress(text.encode()) if name.endswith("gz") else text, name))
    assert Answer.objects.count() == 2


GOOD = '{"prompt": "a", "text": "b"}\n'


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('{"text": "b"}', "prompt: it is missing"),
        ('{"prompt": "", "text": "b"}', "prompt: it is missing"),
        ('{"prompt": "a"}', "text: it is missing"),
        ('{"prompt": "a", "text": null}', "text: it is missing"),
        ('{"prompt": "a", "text": 5}', "text: it is no text"),
        ('{"prompt": ["a"], "text": "b"}', "prompt: it is no text"),
        ("prompt,text", "it is not JSON"),
        ('["a", "b"]', "it is no object"),
        ('{"prompt": "a", "text": "b", "x": NaN}', "NaN is no number"),
        ('{"prompt": "a", "text": "b", "text": "c"}', "a field is there twice"),
        ("[" * 100_000, "it is not JSON"),
        ('{"prompt": "a\\u0000", "text": "b"}', "no text has"),
        ('{"prompt": "a", "text": "\\ud800"}', "no text has"),
        ('{"prompt": "a", "text": "b", "x": {"y": ["\\u0000"]}}', "no text has"),
        ('{"prompt": "a\0", "text": "b"}', "NUL"),
        (b'{"prompt": "\xff", "text": "b"}', "not UTF-8 (byte 13)"),
        ('{"prompt": "a", "text": "b", "key": "%s"}' % ("k" * 201), "at most 200"),
        ('{"prompt": "a", "text": "b", "key": {}}', "key: it is no text"),
        ('{"prompt": "a", "text": "b", "number": 0}', "number: '0' is no whole number"),
        ('{"prompt": "a", "text": "b", "number": true}', "no whole number"),
        ('{"prompt": "a", "text": "b", "number": 1, "sample": 2}', "the same field"),
        ('{"prompt": "a", "text": "b", "seed": -1}', "seed: '-1'"),
        (f'{{"prompt": "a", "text": "b", "seed": {2**63}}}', "seed:"),
        ('{"prompt": "a", "text": "b", "tokens_in": 1.5}', "tokens_in: '1.5'"),
        ('{"prompt": "a", "text": "b", "seconds": "fast"}', "seconds: 'fast'"),
        ('{"prompt": "a", "text": "b", "ended": "%s"}' % ("e" * 41), "at most 40"),
    ],
)
def test_a_wrong_line_is_named_with_its_cure_and_nothing_is_stored(write, bad, why):
    bad = bad if isinstance(bad, bytes) else bad.encode()
    said = refused(write(GOOD.encode() + b"\n" + bad + b"\n" + GOOD.encode()))
    assert "answers.jsonl: 1 error; nothing was stored" in said
    assert "line 3: " in said
    assert why in said


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "holds no answer"),
        ("prompt,text\n", "holds no answer"),
        ("prompt;text\na;b\n", "there is no column 'prompt'"),
        ("prompt,answer\na,b\n", "there is no column 'text'"),
        ("prompt,text,\na,b,c\n", "a column has no name"),
        ("prompt,text,text\na,b,c\n", "'text' is there twice"),
        ("prompt,text\na,b,c\n", "row 2: it has 3 cells"),
        ('prompt,text\na,"b\n', "row 2: it is not CSV"),
        (b"prompt,text\na,\xff\n", "row 2: it is not UTF-8"),
        ("prompt,text\na,b".encode("utf-16"), "UTF-16"),
        (gzip.compress(GOOD.encode() * 99, mtime=0)[:-9], "damaged"),
    ],
)
def test_a_wrong_csv_file_is_named_with_its_cure_too(write, content, why):
    assert why in refused(write(content, "a.csv"))


def test_twenty_errors_are_listed_and_all_are_counted(write):
    said = refused(write('{"prompt": 1, "text": "b"}\n' * 30 + GOOD))
    assert said.count("prompt: it is no text") == 20
    assert "30 errors" in said
    assert "... and 10 more" in said


def test_the_same_key_and_number_twice(write):
    lines = [
        {"prompt": "a", "text": "1", "key": "k", "number": 2},
        {"prompt": "b", "text": "2", "key": "k"},
        {"prompt": "c", "text": "3", "key": "k", "number": 2},
        {"prompt": "d", "text": "4", "key": "k", "number": 1},
    ]
    said = refused(write(lines))
    assert "line 3: it has the key (or prompt) and the number 2 of line 1" in said
    assert "line 4: it has the key (or prompt) and the number 1 of line 2" in said


def test_a_repeated_key_is_said_beside_the_other_errors(write):
    lines = [
        {"prompt": "a", "text": "1", "key": "k"},
        {"prompt": "b", "text": "2", "key": "k"},
        {"prompt": "c"},
    ]
    said = refused(write(lines))
    assert "2 errors" in said
    assert re.search(r"line 2: it has the key .* of line 1.*\nline 3: text: it is missing", said)


def test_the_same_file_again_changes_nothing_and_another_one_is_refused(write):
    path = write(TWO)
    load(path)
    before = list(Answer.objects.values())
    assert "Nothing to do" in load(path)
    assert "Nothing to do" in load(write(gzip.compress(path.read_bytes()), "copy.jsonl.gz"))
    with pytest.raises(CommandError, match=r"other settings \(temperature\)"):
        load(path, temperature=0.1)
    with pytest.raises(CommandError, match=r"Choose another name with --name"):
        load(write(TWO[:1], "other.jsonl"))
    assert list(Answer.objects.values()) == before
    assert (Run.objects.count(), AuditEvent.objects.count()) == (1, 1)
    load(path, name="second")
    assert Answer.objects.count() == 4


def test_what_somebody_else_imports_at_the_same_time_is_one_run(write, monkeypatch):
    path = write(TWO)
    load(path)
    looked, real = [], imported_runs.ImportedRun.existing

    def not_there_yet(run):
        looked.append(run)
        return real(run) if len(looked) > 1 else None

    monkeypatch.setattr(imported_runs.ImportedRun, "existing", not_there_yet)
    assert "Nothing to do" in load(path)
    assert (len(looked), Run.objects.count(), Answer.objects.count()) == (2, 1, 2)


def test_a_failure_while_it_is_stored_leaves_nothing(write, monkeypatch):
    monkeypatch.setattr(imported_runs, "_PER_BATCH", 2)
    real, calls = Answer.objects.bulk_create, []

    def breaks(rows):
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("disk full")
        return real(rows)

    monkeypatch.setattr(Answer.objects, "bulk_create", breaks)
    path = write([*TWO, *TWO])
    with pytest.raises(RuntimeError):
        load(path)
    assert not Run.objects.exists()
    monkeypatch.undo()
    load(path)
    assert Answer.objects.count() == 4


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"name": "no slug!"}, "letters, digits"),
        ({"model": " "}, "model"),
        ({"temperature": 3.0}, "temperature"),
        ({"chat": False, "system": "x"}, "system"),
        ({"option": ["x"]}, "NAME=VALUE"),
        ({"kind": "descriptions", "set": "nowhere"}, "no study or image set"),
        ({"set": "nowhere"}, "--kind completions has no place for --set"),
        ({"kind": "descriptions", "path": "missing.jsonl"}, "cannot be read"),
    ],
)
def test_options_that_cannot_be(write, options, why):
    path = write(TWO)
    assert why in refused(path.with_name(options.pop("path", path.name)), **options)


def test_descriptions_find_their_images_by_name(write):
    one = factories.image(group_name="Mexican", index=1, reference="m/1.png", file="")
    two = factories.image(group_name="Mexican", index=2, image_set=one.image_set)
    lines = [
        {"prompt": "Who?", "text": "a", "image": "1.png"},
        {"prompt": "Who?", "text": "b", "image": "Mexican 2"},
    ]
    load(write(lines), kind="descriptions", set=one.image_set.name)
    assert list(Job.objects.order_by("pk").values_list("image", "number")) == [(one.pk, 1), (two.pk, 1)]
    assert set(map(repr, Answer.objects.values_list("extra", flat=True))) == {"{}"}
    load(write(lines), kind="descriptions", name="without-a-set")
    told = Answer.objects.filter(run__name="without-a-set").order_by("pk").values_list("extra", flat=True)
    assert list(told) == [{"image": "1.png"}, {"image": "Mexican 2"}], "of no set, but not forgotten"
    assert Run.objects.get(name="elsewhere").image_set == one.image_set
    Run.objects.all().delete()
    AuditEvent.objects.all().delete()
    said = refused(
        write([{**lines[0], "image": "9.png"}, TWO[0]]), kind="descriptions", set=one.image_set.name
    )
    assert "line 1: image: the image '9.png' is not in the set" in said
    assert "line 2: image: it names no image" in said


def test_nothing_can_be_asked_in_a_run_that_was_imported(write):
    load(write(TWO))
    run = Run.objects.get()
    assert runs.available_actions(run.state, done=2, failed=0, imported=True) == []
    for action in ("start", "resume", "retry"):
        with pytest.raises(RunRefused, match="made elsewhere"):
            runs.ACTIONS[action](run=run, by=None)
    run.refresh_from_db()
    assert (run.state, Answer.objects.count()) == (RunState.DONE, 2)
    out = StringIO()
    call_command("runs", "show", str(run.pk), stdout=out)
    assert "imported from answers.jsonl" in out.getvalue()
    with pytest.raises(CommandError, match="has ended"):
        call_command("runs", "limit", str(run.pk), tokens=5)
