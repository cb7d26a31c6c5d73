"""The batch that fits into a device's memory: kept by run and device, smaller when full, grown again."""

from generation.backends.base import LocalModel
from generation.jobs.services import loaded_model
from generation.jobs.services.loaded_model import Loaded
from generation.models import BatchSize, Run


def limit(run: Run, loaded: Loaded[LocalModel]) -> None:
    """Lower the model's batch to what fitted into such a device before."""
    known = BatchSize.objects.filter(run=run, device=_device(loaded)).first()
    if known is not None:
        loaded.model.batch = min(loaded.model.batch, known.size)


def update(run: Run, loaded: Loaded[LocalModel], *, before: int, jobs: int) -> bool:
    """Note that a batch of `jobs` jobs ended, which began with a limit of `before`; returns whether the size
    shrank. Grow it again after many full batches, later each time that it turns out to be too large."""
    model = loaded.model
    if model.batch < before:
        BatchSize.objects.update_or_create(run=run, device=_device(loaded), defaults={"size": model.batch})
        loaded.full_batches, loaded.grow_after = 0, 4 * loaded.grow_after
        return True
    loaded.full_batches += jobs >= model.batch
    if loaded.full_batches >= loaded.grow_after and model.batch < loaded.largest_batch:
        size = min(2 * model.batch, loaded.largest_batch)
        # In the model's thread: the results of the batch that is on the device name its size.
        loaded_model.run_on_device(setattr, model, "batch", size)
        BatchSize.objects.update_or_create(run=run, device=_device(loaded), defaults={"size": size})
        loaded.full_batches = 0
    return False


def _device(loaded: Loaded[LocalModel]) -> str:
    """The device's name, without the number format and the batch that follow it."""
    return loaded.model.about.device.partition(",")[0][:120]
