"""A real pipeline of diffusers through the whole worker: verdict, history, and the same file once more."""

import shutil

import pytest
from django.core.files.storage import default_storage
from django.urls import reverse

from annotation.images import files as image_files
from annotation.models import Image
from generation.backends import weights
from generation.image_sets import services as verify
from generation.jobs import png
from generation.jobs.services import loaded_model, work
from generation.models import RunState
from generation.recipes.recipes import ImageRecipe
from tests import factories
from tests.generation.backends import tiny
from tests.generation.jobs.world import nobody_is_disturbed, run_of_pictures, state

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:::(diffusers|transformers|torch|huggingface_hub)"),
]


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch, settings):
    monkeypatch.setattr(loaded_model, "_loaded", [])
    settings.MODEL_DEVICE = "cpu"


def made(folder, safety, **options):
    recipe = ImageRecipe(model=str(folder), width=64, height=64, steps=2, safety=safety, **options)
    run = run_of_pictures(2, recipe=recipe)
    assert work.work(run_id=run.pk) == 2
    assert state(run) == (RunState.DONE, "")
    nobody_is_disturbed(run)
    return run


@pytest.mark.parametrize(
    ("name", "safety", "verdict", "said"),
    [
        ("flagging_all", "record", True, "<strong>flagged</strong>"),
        ("flagging_none", "record", False, "not flagged"),
        ("flagging_all", "off", None, "did not run"),
    ],
)
def test_the_checkers_verdict_is_stored_and_shown(tiny_models, client, name, safety, verdict, said):
    run = made(getattr(tiny_models, name), safety)
    image = Image.objects.filter(image_set=run.image_set).first()
    assert image.provenance.flagged is verdict
    client.force_login(factories.user("boss", admin=True))
    assert said in client.get(reverse("image_history", args=[image.pk])).text


def test_a_lora_is_in_the_history_of_each_picture(tiny_models, lora, client):
    text = f"{lora}:other.safetensors@0.5"
    run = made(tiny_models.stable_diffusion, "off", lora=(text,))
    image = Image.objects.filter(image_set=run.image_set).first()
    file = weights.revision_of(lora / "other.safetensors")
    with default_storage.open(image.file.name) as stored:
        origin = png.read_origin(stored.read())
    for libraries in (image.provenance.libraries, run.made_with[0]["libraries"], origin.libraries):
        assert libraries[f"lora {text}"] == file
    client.force_login(factories.user("boss", admin=True))
    for page in (reverse("image_history", args=[image.pk]), reverse("run", args=[run.pk])):
        assert f"lora {text} {file}" in client.get(page).text
        assert f"<dd>{text}</dd>" in client.get(page).text


def test_a_lost_picture_is_made_again_by_the_model_byte_for_byte(tiny_models):
    run = made(tiny_models.stable_diffusion, "off")
    image = Image.objects.get(image_set=run.image_set, index=2)
    with default_storage.open(image.file.name) as file:
        told = png.read_origin(file.read())
    assert (told.model, told.revision) == (str(tiny_models.stable_diffusion), image.provenance.revision)
    assert {"torch", "diffusers"} <= set(told.libraries)
    default_storage.delete(image.file.name)
    found = verify.verify(image_set=run.image_set)
    assert found.missing == (image,)
    verify.regenerate(lost=found.lost, by=None)
    loaded_model._loaded.clear()  # another process, another day
    assert work.work(run_id=run.pk) == 1
    assert image_files.is_stored(image.file.name, sha256=image.sha256)
    assert not verify.verify(image_set=run.image_set).lost


def test_a_folder_whose_weights_were_replaced_pauses_the_run(tiny_models, tmp_path):
    """The pictures that are there are another model's from now on."""
    folder = shutil.copytree(tiny_models.stable_diffusion, tmp_path / "model")
    run = made(folder, "off")
    run.jobs.update(state="pending", attempts=0)
    type(run).objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    shutil.rmtree(folder)
    tiny.stable_diffusion(folder, seed=1)
    loaded_model._loaded.clear()
    assert work.work(run_id=run.pk) == 0
    paused, why = state(run)
    assert paused == RunState.PAUSED
    assert f"The weights of '{folder}' are files-" in why
