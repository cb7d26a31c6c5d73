"""Recipes of runs that ask models: completions, descriptions, classifications. Pure: no Django.

What is asked, with the pictures it is about, stands in the run's jobs. `design` says what the askings were
planned for and with what (such as SeeGULL's candidates), and so belongs to what decides the answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from generation.recipes.checks import check_dtype, check_seed, require

MOST_TOKENS = 32_768
MOST_TIMES = 10_000


@dataclass(frozen=True, kw_only=True)
class _TextRecipe:
    """How a model writes text.

    `server`: of the backend `openai`, a name of MODEL_SERVERS. `system`: a system message. `chat`: a prompt
    is a message to the model; else the model continues its text. `temperature` 0: always the likeliest word.
    `top_p`: only the likeliest words that together have this probability. `max_tokens`: of an answer. `stop`:
    texts that end an answer. `times`: answers to each prompt, each with its own seed. `options`: the
    backend's own, which it checks. `dtype` and `repeatable`: as in ImageRecipe.
    """

    backend: str = "openai"
    server: str = ""
    model: str = ""
    revision: str = ""
    dtype: str = "auto"
    repeatable: bool = False
    system: str = ""
    chat: bool = True
    temperature: float = 0.5
    top_p: float = 1.0
    max_tokens: int = 100
    stop: tuple[str, ...] = ()
    times: int = 1
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    design: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(0 <= self.temperature <= 2, "temperature", "choose 0 to 2")
        require(0 < self.top_p <= 1, "top_p", "choose more than 0 and at most 1")
        require(1 <= self.max_tokens <= MOST_TOKENS, "max_tokens", f"choose 1 to {MOST_TOKENS}")
        require(1 <= self.times <= MOST_TIMES, "times", f"choose 1 to {MOST_TIMES}")
        require(len(self.stop) <= 4 and all(self.stop), "stop", "at most 4 texts, none of them empty")
        require(
            self.chat or not self.system, "system", "a system message needs chat; leave it empty without chat"
        )
        check_dtype(self.dtype)
        check_seed(self.seed)


@dataclass(frozen=True, kw_only=True)
class CompletionRecipe(_TextRecipe):
    """A language model answers or continues each prompt."""

    kind: ClassVar[str] = "completions"


@dataclass(frozen=True, kw_only=True)
class DescriptionRecipe(_TextRecipe):
    """A vision-language model answers each prompt about each image."""

    kind: ClassVar[str] = "descriptions"


@dataclass(frozen=True, kw_only=True)
class ClassificationRecipe:
    """A classifier gives each text, or pair of texts, a probability for each of its labels.

    `labels`: names for the labels of a model whose configuration has none (LABEL_0, ...), in its order.
    """

    kind: ClassVar[str] = "classifications"

    backend: str = "transformers"
    model: str = ""
    revision: str = ""
    dtype: str = "auto"
    repeatable: bool = False
    labels: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    design: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_dtype(self.dtype)
        require(len(set(self.labels)) == len(self.labels), "labels", "name each label once")
