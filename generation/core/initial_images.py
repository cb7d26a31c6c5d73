"""An initial image as a model begins with it. Pure: neither Django nor the database."""

from PIL import Image


def fitted(picture: Image.Image, *, width: int, height: int) -> Image.Image:
    """RGB, of a recipe's width and height: resized with Lanczos, as diffusers does, and stretched if its
    shape is another, so that every place in it keeps its place relative to both edges."""
    return picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
