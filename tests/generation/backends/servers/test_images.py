"""Text-to-image models on a server."""

from __future__ import annotations

import pytest

from generation.backends.base import BackendError, ImageRequest, Refused
from generation.recipes.recipes import ImageRecipe
from tests import coroutines
from tests.fake_openai import (
    Fault,
    error,
    picture,
)


class TestImages:
    @pytest.fixture
    def generate(self, server, load):
        def made(**changed):
            model = load(ImageRecipe, **{"width": 64, "height": 48, **changed})

            async def one():
                try:
                    return await model.generate(ImageRequest("a person", 5))
                finally:
                    await model.close()

            return coroutines.run(one())

        return made

    def test_one_image_of_the_size(self, server, generate):
        image = generate(steps=None, guidance=None)
        assert (image.pixels.size, image.pixels.mode, image.flagged) == ((64, 48), "RGB", None)
        assert server.bodies == [
            {"model": "m", "prompt": "a person", "n": 1, "size": "64x48", "response_format": "b64_json"}
        ]

    def test_a_model_that_always_sends_the_image_itself(self, server, generate):
        refusal = error(
            400, "Unknown parameter: 'response_format'.", param="response_format", code="unknown_parameter"
        )
        server.judge = lambda body: refusal if "response_format" in body else None
        assert generate().pixels.size == (64, 48)

    @pytest.mark.parametrize(
        ("fault", "kind", "words"),
        [
            (
                error(400, "Safety system", code="moderation_blocked"),
                Refused,
                r"The filter of the server lab \(.* refused this prompt: Safety system\. Plan another",
            ),
            (error(400, "Size must be 1024x1024", param="size"), BackendError, "recipe: size"),
            (Fault("raw", body={"data": []}), Refused, r"server lab \(.* without an image\. Retry the job"),
            (
                Fault("raw", body={"data": [{"url": "http://169.254.169.254/x"}]}),
                BackendError,
                "addresses of images",
            ),
            (
                Fault("raw", body={"data": [{"b64_json": "aGFsbG8="}]}),
                Refused,
                r"server lab \(.* no image .*\. Retry the job",
            ),
        ],
    )
    def test_refusals(self, server, generate, fault, kind, words):
        server.faults.append(fault)
        with pytest.raises(kind, match=words):
            generate()
        assert server.asked["a person"] == 1

    def test_another_size_than_asked_for(self, server, generate):
        server.faults.append(Fault("raw", body={"data": [{"b64_json": picture("8x8")}]}))
        with pytest.raises(BackendError, match="made an image of 8x8 when asked for 64x48"):
            generate()
