"""A vision-language model on any server that speaks OpenAI's HTTP interface: OpenAI, Azure, vLLM and others.

Each message holds the image, as a data URL, and the prompt. `server`: as in complete_openai. Options:
ImageTextOptions.
"""

from generation.backends import openai_text
from generation.backends.base import BackendError, RemoteAnswerer
from generation.backends.openai_text import ImageTextOptions, TextOptions
from generation.recipes.askings import DescriptionRecipe


def check(recipe: DescriptionRecipe) -> TextOptions:
    """The recipe's options. Raises BackendError, also without chat: only messages hold images."""
    if not recipe.chat:
        raise BackendError("recipe: chat: a server takes images in messages only; leave chat on.")
    return openai_text.check(recipe, ImageTextOptions)


def load(recipe: DescriptionRecipe, *, device: str = "") -> RemoteAnswerer:
    """As complete_openai.load."""
    check(recipe)
    return openai_text.load(recipe, ImageTextOptions)
