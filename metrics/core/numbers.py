"""Numbers that JSON and CSV files can hold. Pure: no Django."""

import math


def finite(value: float | None) -> float | None:
    """The value; None if it is NaN or infinite, which JSON does not have.

    Examples
    --------
    >>> finite(0.5), finite(float("nan")), finite(float("-inf")), finite(None)
    (0.5, None, None, None)
    """
    return value if value is not None and math.isfinite(value) else None
