"""Run a database operation again if the connection is lost."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

log = logging.getLogger(__name__)
T = TypeVar("T")
# Together long enough for a database restart; losing the finished batch would cost more.
_PAUSES = (0.5, 1, 2, 4, 8, 16, 30)


def with_retries(query: Callable[[], T]) -> T:
    """Run a database operation, again if the connection is lost.

    Updates check the claim's key, so one whose acknowledgement was lost is not applied twice.
    """
    for pause in _PAUSES:
        try:
            return query()
        except (OperationalError, InterfaceError) as error:
            if connection.in_atomic_block:
                raise
            log.warning("the database is unreachable (%s); trying again in %s s", error, pause)
            connection.close()
            time.sleep(pause)
    return query()
