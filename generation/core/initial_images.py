"""An initial image in the size of a recipe, as a model begins with it. Pure: neither Django nor the database."""

from PIL import Image

from generation.recipes.recipes import ImageRecipe


def fitted(picture: Image.Image, recipe: ImageRecipe) -> Image.Image:
    """RGB, of the recipe's width and height: resized with Lanczos, as diffusers does, and stretched if its
    shape is another, so that every place in it keeps its place relative to both edges."""
    return picture.convert("RGB").resize((recipe.width, recipe.height), Image.Resampling.LANCZOS)
