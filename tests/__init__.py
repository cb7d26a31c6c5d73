"""The tests. Hypothesis tries the same examples each time: no run is red by chance. However long an example
takes on a busy machine, that is no fault."""

import hypothesis

hypothesis.settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("same")
