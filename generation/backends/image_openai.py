"""A text-to-image model on any server that speaks OpenAI's HTTP interface (`/images/generations`).

`server`: as in complete_openai. Sent are the model, the prompt and the size, for one image at a time; such a
server knows no seed, steps or other settings of Stable Diffusion, so the recipe must leave them alone.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
from collections.abc import Mapping
from typing import Any

from PIL import Image

from generation.backends import model_servers, openai_server, options
from generation.backends.base import (
    BackendError,
    GeneratedImage,
    ImageRequest,
    Refused,
    RemoteTextToImage,
)
from generation.backends.model_servers import ModelServer
from generation.backends.openai_errors import RETRY, ErrorInAnswer, Filtered, Malformed, followed, is_about
from generation.backends.openai_requests import Sender
from generation.backends.openai_server import Clock, Connection
from generation.recipes.recipes import ImageRecipe

_PATH = "/images/generations"
_IN_FLIGHT = 8
_TIMEOUT = 300.0
_NOT_SENT = {
    name: f"a server takes no {noun}; leave it alone"
    for name, noun in {
        "revision": "revision, it chooses that itself",
        "scheduler": "scheduler",
        "steps": "number of steps",
        "guidance": "guidance",
        "dtype": "number type",
        "repeatable": "wish for the same image again",
        "compiled": "wish to compile its model",
        "safety": "setting of the safety checker, it has a filter of its own",
        "negative_prompt": "negative prompt",
        "variant": "variant of the weights",
        "lora": "LoRA",
        "quantisation": "quantisation",
        "offload": "wish to offload its model",
        "initial": "initial image here",
        "strengths": "strength",
    }.items()
}


class OpenAITextToImage:
    """A RemoteTextToImage. The filter's refusal of a prompt is Refused, with its reason."""

    in_flight = _IN_FLIGHT

    def __init__(self, recipe: ImageRecipe, clock: Clock | None = None) -> None:
        self._recipe = recipe
        self._server = model_servers.find(recipe.server)
        self._connection = Connection(self._server, timeout=_TIMEOUT, clock=clock)
        self._names_format = True
        self.about = openai_server.about(self._server, recipe.model)

    async def generate(self, request: ImageRequest) -> GeneratedImage:
        """As RemoteTextToImage."""
        try:
            data = await self._connection.ask(lambda sender: self._send(sender, request.prompt))
            return GeneratedImage(await asyncio.to_thread(self._decoded, data))
        except Filtered as error:
            said = f"The filter of the server {self._server.where} refused this prompt: {error}"
            raise Refused(followed(said, "Plan another prompt.")) from None

    async def close(self) -> None:
        await self._connection.close()

    async def _send(self, sender: Sender, prompt: str) -> bytes:
        """The image's file. Models that always answer with the image itself refuse `response_format`."""
        import openai

        recipe = self._recipe
        fields: dict[str, Any] = {
            "model": recipe.model,
            "prompt": prompt,
            "n": 1,
            "size": f"{recipe.width}x{recipe.height}",
        }
        named: dict[str, Any] = {"response_format": "b64_json"} if self._names_format else {}
        try:
            answer = await sender.post(_PATH, {**fields, **named})
        except openai.APIStatusError as error:
            if not named or not is_about(error, "response_format", self._server):
                raise
            answer = await sender.post(_PATH, fields)
            self._names_format = False
        return self._file(answer)

    def _file(self, answer: Mapping[str, Any]) -> bytes:
        entries = answer.get("data")
        entry = entries[0] if isinstance(entries, list) and entries else None
        if not isinstance(entry, Mapping):
            if answer.get("error"):
                raise ErrorInAnswer(answer)
            raise Refused(f"The server {self._server.where} answered without an image. {RETRY}")
        if isinstance(encoded := entry.get("b64_json"), str):
            try:
                return base64.b64decode(encoded, validate=True)
            except binascii.Error:
                raise Malformed("answered with an image that is not base64") from None
        raise BackendError(
            f"The server {self._server.where} answers with the addresses of images, not with the images. "
            "Choose a model or setting of the server with which it sends images itself (b64_json)."
        )

    def _decoded(self, data: bytes) -> Image.Image:
        """Raises Refused, BackendError."""
        try:
            with Image.open(io.BytesIO(data)) as opened:
                image = opened.convert("RGB")
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise Refused(
                f"The server {self._server.where} answered with a file that is no image ({error}). {RETRY}"
            ) from error
        size = self._recipe.width, self._recipe.height
        if image.size != size:
            raise BackendError(
                f"The server {self._server.where} made an image of {image.width}x{image.height} when asked "
                f"for {size[0]}x{size[1]}. Choose width {image.width} and height {image.height}, "
                "or another model."
            )
        return image


def check(recipe: ImageRecipe) -> ModelServer:
    """The recipe's server. Raises BackendError for what such a server cannot honour."""
    server = model_servers.find(recipe.server)
    if recipe.model == ImageRecipe.model:
        raise BackendError("recipe: model: name the model as the server calls it, for example gpt-image-1.")
    options.refuse_changed(recipe, _NOT_SENT)
    return server


def load(recipe: ImageRecipe, *, device: str = "") -> RemoteTextToImage:
    """Ignores `device`. Raises BackendError as `check`, or if the server cannot be reached, refuses the key
    or has no such model."""
    openai_server.first_request(check(recipe), model=recipe.model)
    return OpenAITextToImage(recipe)
