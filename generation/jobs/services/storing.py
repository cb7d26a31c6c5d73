"""Store what several jobs made, together; one that cannot be stored fails alone."""

import logging
from collections.abc import Sequence
from functools import partial

from django.db import IntegrityError, InterfaceError, OperationalError

from annotation.core.leases import Claim
from generation.jobs.services.handlers import JobHandler, JobResult
from generation.jobs.services.retries import with_retries
from generation.models import Job

log = logging.getLogger(__name__)


def store_all(
    handler: JobHandler, claim: Claim[Job], results: Sequence[JobResult]
) -> tuple[int, dict[int, str]]:
    """How many were stored, and why the others were not, by job.

    One transaction stores them all. If it fails, each has one of its own, so that only what is at fault is
    lost. Raises OperationalError and InterfaceError if the database stays away.
    """
    try:
        return with_retries(partial(handler.complete, claim, results)), {}
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        log.warning("the results of %s jobs could not be stored", len(results), exc_info=True)
        if len(results) == 1:
            return 0, {results[0].job.pk: _reason(error)}
    stored, failed = 0, {}
    for one in results:
        try:
            stored += with_retries(partial(handler.complete, claim, [one]))
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            failed[one.job.pk] = _reason(error)
    return stored, failed


def _reason(error: Exception) -> str:
    cause = "its place is already taken" if isinstance(error, IntegrityError) else type(error).__name__
    return f"The result could not be stored ({cause}): {error}"
