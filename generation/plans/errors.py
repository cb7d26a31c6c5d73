"""The error of planning."""


class PlanRefused(ValueError):
    """A plan that is not possible. The message says why and what to do; `field`: what to change, if it is one
    field of the form."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field
