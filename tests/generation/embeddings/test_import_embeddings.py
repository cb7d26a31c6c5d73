"""Embeddings from elsewhere: all of a file or nothing, once, for the images that they are of."""

from __future__ import annotations

import hashlib
from io import StringIO

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.audit import sentences
from annotation.core.leases import JobState
from annotation.models import AuditEvent, Axis, IdentityGroup, Image, ImageSet
from generation.embeddings.queries import encoder_id, image_vectors, runs_of_set, text_vectors
from generation.embeddings.services import importing
from generation.models import Embedding, Job, Run, RunState, TextEmbedding
from generation.recipes.recipes import digest_of
from generation.runs import services as runs
from generation.runs.errors import RunRefused
from tests import factories
from tests.annotation.api.calls import Program
from tests.generation.embeddings.files import saved, three
from tests.generation.image_sets import world

pytestmark = pytest.mark.django_db

KINDS = (Run, Job, Embedding, TextEmbedding, ImageSet, Image, IdentityGroup, AuditEvent)
RACE = {"axis": "race_colour", "new_groups": True}


def load(path, *, name="faces", encoder="clip 1", **options):
    out = StringIO()
    call_command("import_embeddings", path, set=name, encoder=encoder, **options, stdout=out)
    return out.getvalue()


def refused(path, **options):
    before = [kind.objects.count() for kind in KINDS]
    with pytest.raises(CommandError) as caught:
        load(path, **options)
    assert [kind.objects.count() for kind in KINDS] == before
    return str(caught.value)


def test_a_new_set_gets_its_images_and_the_vectors_of_images_and_texts(tmp_path):
    path = saved(tmp_path, **three())
    said = load(path, **RACE, title="Faces", licence="for research")
    run = Run.objects.get()
    assert f"Run {run.pk}: embeddings of 3 images and 2 texts, by 'clip 1'." in said
    assert "Added to the set 'faces': 3 images, without files and of unknown size." in said
    assert (run.kind, run.backend, run.state, run.name) == ("embeddings", "imported", "done", "")
    image_set = ImageSet.objects.get()
    assert (image_set.name, image_set.title, image_set.licence) == ("faces", "Faces", "for research")
    assert list(runs_of_set(image_set)) == [run]
    assert encoder_id(run) == "clip 1"
    rows = Image.objects.order_by("pk").values_list("reference", "group__name", "group__axis", "index")
    axis = Axis.RACE_COLOUR.value
    assert list(rows) == [
        ("a.png", "Asian", axis, 1),
        ("b.png", "Asian", axis, 2),
        ("c.png", "White", axis, 1),
    ]
    assert set(Image.objects.values_list("width", "height", "file", "sha256")) == {(0, 0, "", "")}
    stored = image_vectors(run)
    assert list(stored.images) == list(Image.objects.order_by("pk").values_list("pk", flat=True))
    wanted = [[0.6, 0.8, 0], [0, 0, 1], [1 / 3, 2 / 3, -2 / 3]]
    assert stored.vectors == pytest.approx(np.array(wanted), abs=1e-7)
    texts = text_vectors(run, ["we", "they", "other"])
    assert {text: list(vector) for text, vector in texts.items()} == {"we": [1, 0, 0], "they": [0, -1, 0]}
    assert list(text_vectors(run, ["we"])) == ["we"]
    assert run.recipe["file"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert run.recipe_hash == digest_of(run.recipe, image_set="faces")
    assert (run.made_with[0]["model"], run.made_with[0]["file"]) == ("clip 1", "vectors.npz")
    assert not {"dtype", "repeatable", "pretrained"} & set(run.recipe)
    assert set(run.jobs.values_list("state", flat=True)) == {JobState.DONE}
    assert (run.jobs.filter(key="").count(), run.jobs.exclude(key="").count()) == (3, 2)
    [event] = AuditEvent.objects.all()
    assert sentences.sentence(event) == f"Imported embeddings of 3 images and 2 texts into run {run.pk}."


@pytest.mark.parametrize(
    ("backend", "recipe", "name"),
    [
        ("open_clip", {"model": "ViT-B-32", "pretrained": "openai"}, "ViT-B-32 openai"),
        ("open_clip", {"model": "ViT-B-32"}, "ViT-B-32"),
        ("imported", {"model": "clip 1", "pretrained": "openai"}, "clip 1"),
        ("fake", {"model": "fake-2"}, "fake"),
    ],
)
def test_an_encoder_is_its_model_with_its_weights(backend, recipe, name):
    assert encoder_id(Run(backend=backend, recipe=recipe)) == name


def test_the_same_file_again_changes_nothing(tmp_path):
    path = saved(tmp_path, **three())
    load(path, **RACE)
    before = Run.objects.get()
    again = load(path)
    assert again == f"Nothing to do: run {before.pk} has the embeddings of this file, by 'clip 1'.\n"
    assert (Run.objects.count(), Image.objects.count(), AuditEvent.objects.count()) == (1, 3, 1)
    assert load(path, encoder=" clip 1 ") == again
    said = load(path, encoder="clip 2")
    assert "Added" not in said  # the images are there
    assert "other imported embeddings" not in said  # by this encoder
    assert (Run.objects.count(), Image.objects.count(), Embedding.objects.count()) == (2, 3, 6)
    assert "other imported embeddings" not in load(path, name="other", **RACE)
    assert ImageSet.objects.get(name="other").title == "other"
    assert (Run.objects.count(), Image.objects.count()) == (3, 6)


def test_another_file_by_the_same_encoder_is_a_second_run_and_says_so(tmp_path):
    load(saved(tmp_path, **three()), **RACE)
    first = Run.objects.get()
    fields = {"image_set": first.image_set, "recipe": {"model": "clip 1"}}
    empty = Run.objects.create(kind="embeddings", backend="fake", recipe_hash="0" * 64, **fields)
    asked = {"kind": "descriptions", "name": "asked", "backend": "imported"}
    others = [empty, Run.objects.create(recipe_hash="1" * 64, **asked, **fields)]
    more = {**three(), "names": np.array(["b.png", "d.png", "c.png"])}
    del more["texts"], more["text_vectors"]
    said = load(saved(tmp_path, name="more.npz", **more), **RACE)
    assert f"other imported embeddings by this encoder: run {first.pk}." in said
    assert "Added to the set 'faces': 1 images" in said
    assert list(Image.objects.order_by("pk").values_list("reference", "index")) == [
        *(("a.png", 1), ("b.png", 2), ("c.png", 1)),
        ("d.png", 3),
    ]
    second = Run.objects.exclude(pk__in=[each.pk for each in (first, *others)]).get()
    assert list(runs_of_set(first.image_set)) == [second, first, empty]
    assert list(image_vectors(second).images) == sorted(image_vectors(second).images)
    assert image_vectors(empty).vectors.shape == (0, 1)
    assert text_vectors(second, ["we"]) == {}
    rows = Embedding.objects.filter(run=second).order_by("pk").values_list("image__reference", flat=True)
    assert list(rows) == ["b.png", "d.png", "c.png"]
    assert not TextEmbedding.objects.filter(run=second).exists()


def test_a_set_with_files_takes_names_of_its_images_only(tmp_path):
    world.made(world.pictures("Mexican", "Indian"))
    images = list(Image.objects.order_by("pk"))
    groups = [each.group.name for each in images[:3]]
    names = [images[0].sha256, images[1].file.name.split("/")[-1], f"{groups[2]} {images[2].index}"]
    given = {**three(), "names": np.array(names), "groups": np.array(groups)}
    said = load(saved(tmp_path, **given), name="drawn")
    assert "Added" not in said
    run = Run.objects.get(backend="imported")
    assert list(image_vectors(run).images) == [each.pk for each in images[:3]]
    assert set(Image.objects.values_list("width", flat=True)) == {64}
    unknown = {**given, "names": np.array([*names[:2], "nowhere.png"])}
    error = refused(saved(tmp_path, name="b.npz", **unknown), name="drawn")
    assert "names[2]: 'nowhere.png' is no image of the set 'drawn'. Name it by its reference" in error
    twice = {**given, "names": np.array([*names[:2], images[0].file.name])}
    twice["groups"][2] = images[0].group.name
    assert "names[2]: " in (error := refused(saved(tmp_path, name="c.npz", **twice), name="drawn"))
    assert "is the same image as names[0]" in error


def test_uploaded_images_are_found_by_their_own_name_within_their_group(tmp_path):
    """Two groups may have a file of the same name."""
    image_set = factories.image_set("faces")
    ours = factories.image(image_set=image_set, group_name="Asian", reference="x/a.png")
    factories.image(image_set=image_set, group_name="White", reference="y/a.png")
    given = {
        "names": np.array(["a.png"]),
        "groups": np.array(["Asian"]),
        "vectors": np.ones((1, 2), np.float32),
    }
    load(saved(tmp_path, **given))
    assert Embedding.objects.get().image == ours
    factories.image(image_set=image_set, group_name="Asian", index=2, reference="z/a.png")
    error = refused(saved(tmp_path, name="b.npz", **given, more=np.ones(1)))
    assert "names[0]: 'a.png': several images of the set 'faces' have that name" in error


def test_the_group_must_be_that_of_the_image(tmp_path):
    load(saved(tmp_path, **three()), **RACE)
    given = {**three(), "groups": np.array(["Asian", "White", "White"])}
    error = refused(saved(tmp_path, name="b.npz", **given), **RACE)
    assert "1 error" in error
    assert "groups[1]: in the set 'faces' the image 'b.png' is of the group 'Asian', not 'White'" in error


@pytest.mark.parametrize("options", [{}, {"axis": "race_colour"}, {"axis": "religion"}])
def test_an_unknown_group_is_named_once_with_the_cure(tmp_path, options):
    error = refused(saved(tmp_path, **three()), **options)
    assert f"groups[0]: no identity group on the axis '{options.get('axis', 'nationality')}'" in error
    assert "groups[2]: " in error
    assert "groups[1]" not in error
    assert "--axis, or allow new groups with --new-groups" in error


def test_groups_that_are_known_need_no_leave(tmp_path):
    factories.group("Asian", axis="race_colour"), factories.group("White", axis="race_colour")
    load(saved(tmp_path, **three()), axis="race_colour")
    assert IdentityGroup.objects.count() == 2
    given = {**three(), "groups": np.array(["Mexican", "Mexican", "Indian"])}  # of the table of identities
    load(saved(tmp_path, name="b.npz", **given), name="nations")
    assert IdentityGroup.objects.get(name="Indian").region == "South Asia"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"encoder": " "}, "name the encoder"),
        ({"encoder": "x" * 201}, "name the encoder"),
        ({"name": "a b"}, "letters, digits"),
        ({"name": "x" * 81}, "at most 80"),
    ],
)
def test_names_that_are_impossible_are_refused(tmp_path, options, told):
    assert told in refused(saved(tmp_path, **three()), **RACE, **options)


def test_who_imports_is_recorded_and_an_encoder_may_have_a_long_name(tmp_path):
    path, maker = saved(tmp_path, **three(), age=np.ones(3)), factories.user("maker")
    target = importing.TargetSet("faces", **RACE)
    done = importing.import_embeddings(path=path, target=target, encoder="x" * 200, by=maker)
    run = Run.objects.get()
    assert (run.created_by, AuditEvent.objects.get().by) == (maker, maker)
    assert run.started_at == run.finished_at
    assert not run.jobs.filter(finished_at=None).exists()
    assert done.summary()[2:] == ["Arrays that were not read: age."]


def test_a_name_that_another_axis_knows_is_unknown(tmp_path):
    factories.group("Asian", axis="religion")
    given = {**three(), "groups": np.array(["Asian", "Asian", "Mexican"])}
    error = refused(saved(tmp_path, **given), axis="race_colour")
    assert "groups[0]" in error
    assert "groups[2]" in error  # 'Mexican' is a nationality of the table of identities


def test_many_unknown_names_are_counted_and_the_first_are_shown(tmp_path):
    factories.image(image_set=factories.image_set("faces"))
    names = np.array([f"{number}.png" for number in range(30)])
    given = {"names": names, "groups": np.full(30, "Asian"), "vectors": np.ones((30, 2), np.float32)}
    error = refused(saved(tmp_path, **given))
    assert "30 errors" in error
    assert "... and 10 more." in error


def test_in_a_set_of_imports_a_new_name_is_a_new_image_however_others_might_be_called(tmp_path):
    load(saved(tmp_path, **three()), **RACE)
    given = {
        "names": np.array(["Asian 1"]),
        "groups": np.array(["Asian"]),
        "vectors": np.ones((1, 2), np.float32),
    }
    assert "1 images" in load(saved(tmp_path, name="b.npz", **given), **RACE)
    assert Image.objects.get(reference="Asian 1").index == 3


def test_lengths_are_those_of_the_database(tmp_path):
    field = {"names": Image, "groups": IdentityGroup, "texts": TextEmbedding}
    column = {"names": "reference", "groups": "name", "texts": "text"}
    for name, longest in importing._LONGEST.items():
        assert field[name]._meta.get_field(column[name]).max_length == longest
    given = {**three(), "texts": np.array(["x" * 501, "b"])}
    assert "texts[0]: it has 501 characters. Shorten it to 500" in refused(saved(tmp_path, **given), **RACE)


def test_a_set_that_is_to_be_filled_here_takes_no_images(tmp_path):
    world.pictures("Mexican")
    path = saved(tmp_path, **three())
    for drawn in (True, False):
        ImageSet.objects.update(drawn=drawn)
        assert "is no image of the set 'drawn'" in refused(path, name="drawn", **RACE)
    Run.objects.all().delete()
    ImageSet.objects.update(drawn=True)
    assert "is no image of the set 'drawn'" in refused(path, name="drawn", **RACE)


def test_a_second_import_at_the_same_moment_finds_the_first(tmp_path, monkeypatch):
    path = saved(tmp_path, **three())
    load(path, **RACE)
    looked = []
    existing = importing._existing
    monkeypatch.setattr(
        importing, "_existing", lambda found: looked.append(1) or (existing(found) if looked[1:] else None)
    )
    assert "Nothing to do" in load(path, **RACE)
    assert (Run.objects.count(), Embedding.objects.count(), Image.objects.count()) == (1, 3, 3)


def test_an_import_that_fails_midway_stores_nothing(tmp_path, monkeypatch):
    def full(*given):
        raise OSError("disk full")

    monkeypatch.setattr(importing, "_write_texts", full)
    with pytest.raises(OSError, match="disk full"):
        load(saved(tmp_path, **three()), **RACE)
    for kind in KINDS:
        assert not kind.objects.exists()


def test_an_imported_run_has_no_actions(tmp_path):
    load(saved(tmp_path, **three()), **RACE)
    run = Run.objects.get()
    assert runs.available_actions(run.state, done=5, failed=0, imported=True) == []
    for action in ("start", "resume", "retry"):
        with pytest.raises(RunRefused, match=r"The embeddings of run .*manage\.py import_embeddings"):
            runs.ACTIONS[action](run=run, by=None)
    for action in ("pause", "cancel", "discard"):
        with pytest.raises(RunRefused):
            runs.ACTIONS[action](run=run, by=None)
    assert Run.objects.get().state == RunState.DONE
    assert Embedding.objects.count() == 3


def test_its_pages_say_what_is_known_and_no_more(tmp_path, client):
    load(saved(tmp_path, **three()), **RACE)
    run, image = Run.objects.get(), Image.objects.earliest("pk")
    client.force_login(factories.user("maker", lead=True))
    text = client.get(reverse("run", args=[run.pk])).text
    assert "imported from vectors.npz" in " ".join(text.split())
    assert "<dt>Texts</dt><dd>2</dd>" in text
    assert "repeatable" not in text
    assert "Plan a similar run" not in text
    assert run.recipe["file"] in text
    assert client.get(reverse("runs")).status_code == 200
    assert client.get(reverse("new_run", args=["embeddings"]), {"like": run.pk}).status_code == 200
    text = client.get(reverse("image_set", args=["faces"])).text
    assert "3 images" in text
    assert "0 × 0" not in text
    text = client.get(reverse("image_history", args=[image.pk])).text
    assert "size unknown" in text
    assert "0 × 0" not in text
    assert "clip 1" in text
    assert "3 numbers" in text
    assert client.get(reverse("image_sets")).status_code == 200


def test_the_api_tells_of_its_run_and_its_images(tmp_path):
    load(saved(tmp_path, **three()), **RACE)
    program = Program(factories.user("maker", lead=True))
    run = program.get(f"runs/{Run.objects.get().pk}").json()
    assert (run["backend"], run["model"], run["actions"]) == ("imported", "clip 1", [])
    assert (run["jobs"]["done"], run["jobs"]["total"]) == (5, 5)
    image = program.get("image-sets/faces/images").json()["results"][0]
    assert (image["width"], image["height"], image["file"]) == (0, 0, None)


def test_the_number_of_queries_does_not_grow_with_the_rows(tmp_path):
    def counted(name, rows):
        given = {
            "names": np.array([f"{number}.png" for number in range(rows)]),
            "groups": np.array(["Asian", "White"])[np.arange(rows) % 2],
            "vectors": np.ones((rows, 4), np.float32),
        }
        with CaptureQueriesContext(connection) as context:
            load(saved(tmp_path, name=f"{name}.npz", **given), name=name, **RACE)
        return len(context)

    counted("first", 2)
    # A database takes so many values in a query, so rows are written in batches.
    assert counted("many", 300) <= counted("few", 2) + 12
