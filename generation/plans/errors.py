"""The error of planning."""


class PlanRefused(ValueError):
    """A plan that is not possible. The message says why and what to do."""
