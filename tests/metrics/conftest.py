"""Who looks at scores."""

import pytest

from tests import factories


@pytest.fixture
def lead(client):
    """Somebody who is logged in, to be made the lead of a study."""
    made = factories.user()
    client.force_login(made)
    return made
