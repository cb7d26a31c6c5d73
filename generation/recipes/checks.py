"""Checks of a recipe's fields, and of texts. Pure: no Django."""


class RecipeRefused(ValueError):
    """An invalid recipe; the message names the field and the cure."""


def require(condition: bool, name: str, cure: str) -> None:
    """Raise RecipeRefused for the field `name`, unless `condition` holds."""
    if not condition:
        raise RecipeRefused(f"recipe: {name}: {cure}.")


DTYPES = ("auto", "float32", "float16", "bfloat16")
SEED_BITS = 63  # fits a signed 64-bit column and torch's generators
LONGEST_TEXT = 500
"""Characters of a text that is embedded."""


def check_dtype(dtype: str) -> None:
    require(dtype in DTYPES, "dtype", "auto, float32, float16 or bfloat16")


def check_seed(seed: int) -> None:
    require(0 <= seed < 2**SEED_BITS, "seed", f"choose 0 to 2^{SEED_BITS} - 1")
