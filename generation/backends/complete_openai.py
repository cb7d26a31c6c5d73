"""A language model on any server that speaks OpenAI's HTTP interface: OpenAI, Azure, vLLM, Ollama and others.

`server`: a name of the setting MODEL_SERVERS; keys are read from the environment of the workers only. With
`chat` each prompt is a message (`/chat/completions`), else the model continues it (`/completions`). Options:
TextOptions.
"""

from generation.backends import openai_text
from generation.backends.base import RemoteAnswerer
from generation.backends.openai_text import TextOptions
from generation.recipes.askings import CompletionRecipe


def check(recipe: CompletionRecipe) -> TextOptions:
    """The recipe's options. Raises BackendError for an unknown server, no model or an unknown option."""
    return openai_text.check(recipe, TextOptions)


def load(recipe: CompletionRecipe, *, device: str = "") -> RemoteAnswerer:
    """Ignores `device`. Raises BackendError as `check`, or if the server cannot be reached, refuses the key
    or has no such model."""
    return openai_text.load(recipe, TextOptions)
