"""Shared by complete_openai and describe_openai: the fields of an asking, and the reading of its answer.

What is sent: `model`, the messages (or the prompt), `temperature`, `max_tokens`, the job's `seed`; `top_p`
and `stop` where the recipe sets them; and the recipe's option `body`. A server that refuses the name
`max_tokens` is asked with `max_completion_tokens` from then on, one that refuses `seed` without it, which
`about` says.
"""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from PIL.Image import Image

from generation.backends import model_servers, openai_server, options
from generation.backends.base import FILTERED, BackendError, Question, Refused, Reply
from generation.backends.model_servers import ModelServer
from generation.backends.openai_errors import RETRY, ErrorInAnswer, Filtered, is_about
from generation.backends.openai_requests import Sender
from generation.backends.openai_server import Clock, Connection
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe

if TYPE_CHECKING:
    import openai

_RESERVED = {
    *("model", "messages", "prompt", "temperature", "top_p", "max_tokens", "max_completion_tokens"),
    *("stop", "seed", "n", "best_of", "stream", "stream_options", "echo"),
}
_ENDINGS = {"content_filter": FILTERED, "eos": "stop", "end_turn": "stop", "max_tokens": "length"}
_LONGEST_ENDING = 30
_MOST_TOKENS = 2**31 - 1
_FORMATS = ("png", "jpeg")
_JPEG_QUALITY = 95


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """`in_flight`: askings at once. `timeout`: seconds until an answer must be there. `unlisted`: the server
    serves models that it does not list. `body`: more fields of each request, as the server defines them, such
    as {"reasoning_effort": "low"} or vLLM's {"top_k": 20}."""

    in_flight: int = 64
    timeout: float = 300.0
    unlisted: bool = False
    body: dict = field(default_factory=dict)  # type: ignore[type-arg]

    def check(self) -> None:
        options.require(1 <= self.in_flight <= 1024, "in_flight", "choose 1 to 1024")
        options.require(1 <= self.timeout <= 3600, "timeout", "choose 1 to 3600 seconds")
        taken = sorted(_RESERVED & set(self.body))
        options.require(
            not taken,
            "body",
            f"{', '.join(taken)} cannot be set here; the recipe's own fields set what is asked",
        )


@dataclass(frozen=True, kw_only=True)
class ImageTextOptions(TextOptions):
    """`image_format`: png sends the very pixels, jpeg (quality 95) a third of the bytes or less. `detail`:
    low, high or auto, for OpenAI; "" leaves it out."""

    image_format: str = "png"
    detail: str = ""

    def check(self) -> None:
        super().check()
        options.require(self.image_format in _FORMATS, "image_format", "choose png or jpeg")
        options.require(
            self.detail in ("", "low", "high", "auto"), "detail", "choose low, high, auto or nothing"
        )


@dataclass(frozen=True)
class _Dialect:
    """What a server was found to understand."""

    tokens: str = "max_tokens"
    seeds: bool = True

    def after(self, error: openai.APIStatusError, server: ModelServer) -> _Dialect | None:
        """The dialect to try after a refusal; None if it was refused for something else."""
        if self.tokens == "max_tokens" and is_about(error, "max_tokens", server):
            return replace(self, tokens="max_completion_tokens")
        if self.seeds and is_about(error, "seed", server):
            return replace(self, seeds=False)
        return None


class OpenAIAnswerer:
    """A RemoteAnswerer."""

    def __init__(
        self, recipe: CompletionRecipe | DescriptionRecipe, chosen: TextOptions, clock: Clock | None = None
    ) -> None:
        self._server = server = model_servers.find(recipe.server)
        self._recipe, self._options = recipe, chosen
        self._connection = Connection(server, timeout=chosen.timeout, clock=clock)
        self._path = "/chat/completions" if recipe.chat else "/completions"
        self._dialect = _Dialect()
        self.about = openai_server.about(server, recipe.model)
        self.in_flight = chosen.in_flight

    async def answer(self, question: Question) -> Reply:
        """As RemoteAnswerer."""
        asked = await self._content(question)
        try:
            return await self._connection.ask(lambda sender: self._send(sender, asked, question.seed))
        except Filtered as error:
            return Reply("", FILTERED, reason=str(error))

    async def close(self) -> None:
        await self._connection.close()

    async def _send(self, sender: Sender, asked: dict[str, Any], seed: int) -> Reply:
        import openai

        dialect = self._dialect
        while True:
            try:
                body = {**asked, **self._settings(dialect, seed), **self._options.body}
                answer = await sender.post(self._path, body)
                break
            except openai.APIStatusError as error:
                other = dialect.after(error, self._server)
                if other is None:
                    raise
                dialect = other
        reply = _read(answer, self._server)
        self._learn(dialect)
        return reply

    def _learn(self, dialect: _Dialect) -> None:
        """Keep a dialect that was answered. Askings that were under way with the old one change nothing."""
        learnt = _Dialect(
            tokens=max(self._dialect.tokens, dialect.tokens, key=lambda name: name != "max_tokens"),
            seeds=self._dialect.seeds and dialect.seeds,
        )
        if self._dialect.seeds and not learnt.seeds:
            self.about = replace(
                self.about, device=f"{self.about.device}, asked without seeds, which it refused"
            )
        self._dialect = learnt

    def _settings(self, dialect: _Dialect, seed: int) -> dict[str, Any]:
        recipe = self._recipe
        settings: dict[str, Any] = {
            "model": recipe.model,
            "temperature": recipe.temperature,
            dialect.tokens: recipe.max_tokens,
        }
        if recipe.top_p != 1:
            settings["top_p"] = recipe.top_p
        if recipe.stop:
            settings["stop"] = list(recipe.stop)
        if dialect.seeds:
            settings["seed"] = seed
        return settings

    async def _content(self, question: Question) -> dict[str, Any]:
        """The messages or the prompt."""
        recipe = self._recipe
        if not recipe.chat:
            return {"prompt": question.prompt}
        content: Any = question.prompt
        if isinstance(self._options, ImageTextOptions):
            if question.image is None:
                raise BackendError("A description needs an image: ask about images, or plan completions.")
            # In a thread: the other askings go on meanwhile.
            url = await asyncio.to_thread(_data_url, question.image, self._options.image_format)
            detail = {"detail": self._options.detail} if self._options.detail else {}
            image = {"type": "image_url", "image_url": {"url": url, **detail}}
            content = [image, {"type": "text", "text": question.prompt}]
        system = [{"role": "system", "content": recipe.system}] if recipe.system else []
        return {"messages": [*system, {"role": "user", "content": content}]}


def check(recipe: CompletionRecipe | DescriptionRecipe, kind: type[TextOptions]) -> TextOptions:
    """The recipe's options. Raises BackendError for what no server can do. Asks no server."""
    model_servers.find(recipe.server)
    if not recipe.model.strip():
        raise BackendError("recipe: model: name the model as the server calls it, for example gpt-4o-mini.")
    options.refuse_changed(
        recipe,
        {
            "revision": "a server chooses the revision of a model itself; leave it empty",
            "dtype": "a server chooses its number type itself; leave auto",
            "repeatable": "a server does not promise the same answer again; leave it out",
        },
    )
    chosen = options.parse(recipe.options, kind)
    chosen.check()
    return chosen


def load(recipe: CompletionRecipe | DescriptionRecipe, kind: type[TextOptions]) -> OpenAIAnswerer:
    """Raises BackendError as `check`, or if the server cannot be reached, refuses the key or has no such
    model."""
    chosen = check(recipe, kind)
    server = model_servers.find(recipe.server)
    openai_server.first_request(server, model=recipe.model, unlisted=chosen.unlisted)
    return OpenAIAnswerer(recipe, chosen)


def _data_url(image: Image, image_format: str) -> str:
    written = io.BytesIO()
    if image_format == "jpeg":
        image.convert("RGB").save(written, "JPEG", quality=_JPEG_QUALITY)
    else:
        flat = image if image.mode in ("RGB", "RGBA", "L") else image.convert("RGB")
        flat.save(written, "PNG", compress_level=1)
    return f"data:image/{image_format};base64,{base64.b64encode(written.getvalue()).decode()}"


def _read(answer: Mapping[str, Any], server: ModelServer) -> Reply:
    """The reply in a server's JSON. Raises ErrorInAnswer, Refused."""
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        if answer.get("error"):
            raise ErrorInAnswer(answer)
        raise Refused(f"The server {server.where} answered without any choice, so there is no text. {RETRY}")
    message = choice.get("message") or {}
    message = message if isinstance(message, Mapping) else {}
    text = _text(message.get("content") if "message" in choice else choice.get("text"))
    refusal = _text(message.get("refusal"))
    reason = choice.get("finish_reason") or "unknown"
    ended = FILTERED if refusal else _ENDINGS.get(str(reason), str(reason)[:_LONGEST_ENDING])
    found = answer.get("usage")
    usage = found if isinstance(found, Mapping) else {}
    return Reply(
        text or refusal, ended, _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    )


def _text(content: Any) -> str:
    """Text, or the texts of a list of parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _count(number: Any) -> int | None:
    """A number of tokens; None for what is none, or more than an answer's column holds."""
    is_whole = isinstance(number, int) and not isinstance(number, bool)
    return number if is_whole and 0 <= number <= _MOST_TOKENS else None
