"""The tests. However long an example of Hypothesis takes on a busy machine, that is no fault."""

import hypothesis

hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")
