"""Numbers that JSON and CSV files can hold, and that people can read. Pure: no Django."""

import math

UNDEFINED = "–"


def finite(value: float | None) -> float | None:
    """The value; None if it is NaN or infinite, which JSON does not have.

    Examples
    --------
    >>> finite(0.5), finite(float("nan")), finite(float("-inf")), finite(None)
    (0.5, None, None, None)
    """
    return value if value is not None and math.isfinite(value) else None


def plain(value: float | None, digits: int = 2) -> str:
    """A number with `digits` decimals; ∞ for infinity, – for undefined.

    Examples
    --------
    >>> plain(1234.5), plain(-0.25, 1), plain(float("inf")), plain(None)
    ('1,234.50', '−0.2', '∞', '–')
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:,.{digits}f}".replace("-", "−")
