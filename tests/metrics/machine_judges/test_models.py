"""Judges that are models: on a server that speaks OpenAI's interface, and tiny ones of the real classes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from io import BytesIO

import pytest
from django.core.files.base import ContentFile
from PIL import Image as Picture

from annotation.models import Image, Study, TaskKind
from generation.jobs.services import loaded_model
from generation.jobs.services.work import work
from generation.models import Run
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.runs import services as runs
from metrics.machine_judges.data import Judge, read_judge
from metrics.machine_judges.planning import Choice, plan_judge
from tests.fake_openai import FakeOpenAI, prompt_of
from tests.generation.backends import tiny_askings
from tests.metrics import cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(tmp_path, settings, monkeypatch) -> Iterator[Study]:
    """Images with files of 64 by 64 pixels."""
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(loaded_model, "_loaded", [])
    study = cast.depiction_study()
    for number, image in enumerate(Image.objects.order_by("pk")):
        content = BytesIO()
        Picture.new("RGB", (64, 64), (40 * number, 90, 120)).save(content, "PNG")
        image.sha256, image.width, image.height = hashlib.sha256(content.getvalue()).hexdigest(), 64, 64
        image.file.save(f"{number}.png", ContentFile(content.getvalue()))
    yield study
    loaded_model._close_at_exit()


def asked(study: Study, recipe, **choice) -> Judge:
    plan = plan_judge(recipe=recipe, choice=Choice(study=study, **choice), name="model")
    run = runs.ensure(plan=plan, by=None).run
    runs.start(run=run, by=None)
    while work(run_id=run.pk):
        pass
    run.refresh_from_db()
    assert (run.state, run.error) == ("done", "")
    return read_judge(Run.objects.get(pk=run.pk), study)


def test_a_model_on_a_server_sees_the_image_and_its_boxes_are_read(study, monkeypatch):
    def reply(body):
        """A box of the upper left quarter around the hat."""
        letter = re.search(r"^([A-Z])\. hat$", prompt_of(body), re.MULTILINE)[1]
        return f'```json\n{{"chosen": [{{"option": "{letter}", "boxes": [[0, 0, 500, 500]]}}]}}\n```'

    with FakeOpenAI(reply=reply) as server:
        monkeypatch.setenv("MODEL_SERVERS", f"lab={server.url}")
        recipe = DescriptionRecipe(backend="openai", server="lab", model="m", temperature=0, max_tokens=400)
        found = asked(study, recipe, task=TaskKind.DEPICTION, boxes="thousandths", again=1)
    verdicts = found.verdicts()
    assert found.readings.asked == {"base": 4, "order": 1}
    assert not found.readings.problems
    assert verdicts.values.sum() == 4
    assert verdicts.corners.tolist() == [[0, 0, 32, 32]] * 4
    assert all("image_url" in str(body["messages"]) for body in server.bodies)


@pytest.mark.parametrize(
    ("task", "kind", "tiny"),
    [
        (TaskKind.DEPICTION, DescriptionRecipe, tiny_askings.llava),
        (TaskKind.VISUAL_NATURE, CompletionRecipe, tiny_askings.llama),
    ],
)
def test_what_a_model_of_random_weights_writes_is_counted_and_not_guessed_at(
    study, tmp_path, task, kind, tiny
):
    if task == TaskKind.VISUAL_NATURE:
        study = cast.visual_study({"hat": [5, 5, 5]})
    pytest.importorskip(
        "transformers", reason="NO MODELS: no real model was tested. Cure: pip install '.[models]'"
    )
    folder = tiny(tmp_path / "tiny", positions=4096)  # a prompt is some hundred bytes
    recipe = kind(backend="transformers", model=str(folder), temperature=0, max_tokens=12)
    found = asked(study, recipe, task=task)
    assert sum(found.readings.problems.values()) + len(found.readings.units) == sum(
        found.readings.asked.values()
    )
    assert found.readings.problems
    assert not len(found.verdicts().options)
