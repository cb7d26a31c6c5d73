"""Find the n-grams nearest to images on the model's device, to which their vectors are loaded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generation.backends import torch_support
from generation.backends.ngrams import Ngrams, Vectors

if TYPE_CHECKING:
    import torch

_ROWS_AT_ONCE = 1 << 16  # compared in one step: 128 MB of 512 numbers in float32
_SHARE = 0.5  # of a GPU's free memory that the vectors may take


class Lookup:
    """The vectors of `ngrams` on `device`.

    The CPU reads them from the file's memory map. A GPU gets a copy, once; if they would take more than half
    of its free memory, each look-up sends them there piece by piece.
    """

    def __init__(self, ngrams: Ngrams, device: torch.device) -> None:
        self._ngrams, self._device = ngrams, device
        mapped = torch_support.import_library("torch").from_numpy(ngrams.vectors)
        with torch_support.must_fit(f"The n-gram cache {ngrams.path}", device):
            self._vectors = mapped.to(device) if _fits(mapped, device) else mapped

    def nearest(self, images: Vectors, *, top: int) -> list[list[str]]:
        """For each image, given as a unit vector, the `top` n-grams with the highest cosine, best first.

        The result for an image does not depend on the others: the last digits of the products depend on the
        number of images, so they select twice as many rows as needed, and those are scored again in float64.
        Equal scores are sorted by row.
        """
        torch = torch_support.import_library("torch")
        number = min(top, len(self._ngrams))
        spare = min(2 * number + 16, len(self._ngrams))
        queries = torch.from_numpy(images)
        rows = self._best_rows(queries.to(self._device), spare).to(self._vectors.device).sort(dim=1).values
        kept = self._vectors[rows].cpu().double()
        exact = (kept * queries.double()[:, None]).sum(-1)
        order = exact.argsort(dim=1, descending=True, stable=True)[:, :number]
        best: list[list[int]] = rows.cpu().gather(1, order).tolist()
        return [[self._ngrams.text(row) for row in of_image] for of_image in best]

    def _best_rows(self, queries: torch.Tensor, number: int) -> torch.Tensor:
        """The rows with the highest products, shape (len(queries), number), on the device."""
        torch = torch_support.import_library("torch")
        scores = queries.new_empty((len(queries), 0))
        rows = queries.new_empty((len(queries), 0), dtype=torch.int64)
        for start in range(0, len(self._vectors), _ROWS_AT_ONCE):
            chunk = self._vectors[start : start + _ROWS_AT_ONCE].to(self._device)
            found = _products(queries, chunk).topk(min(number, len(chunk)), dim=1)
            scores = torch.cat([scores, found.values], dim=1)
            rows = torch.cat([rows, found.indices + start], dim=1)
            scores, places = scores.topk(min(number, scores.shape[1]), dim=1)
            rows = rows.gather(1, places)
        if not torch.isfinite(scores).all():
            raise self._ngrams.damaged("a vector is not finite")
        return rows


def _products(queries: torch.Tensor, chunk: torch.Tensor) -> torch.Tensor:
    return queries @ chunk.float().T


def _fits(vectors: torch.Tensor, device: torch.device) -> bool:
    if device.type != "cuda":
        return True
    free, _ = torch_support.import_library("torch").cuda.mem_get_info(device)
    return vectors.nbytes <= _SHARE * float(free)
