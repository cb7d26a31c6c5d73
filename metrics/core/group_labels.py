"""What figures call groups: their rows are keyed by it."""

from collections import Counter
from collections.abc import Iterable


def group_labels(groups: Iterable[tuple[int, str, str]]) -> dict[int, str]:
    """From (id, name, axis), also several times: id -> name, with the axis where two groups have the name.

    Examples
    --------
    >>> group_labels([(1, "Asian", "race"), (2, "Asian", "region"), (3, "White", "race")])
    {1: 'Asian (race)', 2: 'Asian (region)', 3: 'White'}
    """
    known = {pk: (name, axis) for pk, name, axis in groups}
    names = Counter(name for name, _axis in known.values())
    return {pk: f"{name} ({axis})" if names[name] > 1 else name for pk, (name, axis) in known.items()}
