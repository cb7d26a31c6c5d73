"""The stored file that an address names."""

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from metrics.core.access import of_visible_sets
from metrics.embedding_tests.stored import stored_files
from metrics.models import EmbeddingTestFile


def stored_file(request: HttpRequest, pk: int) -> EmbeddingTestFile:
    """Http404 if the account may not see its image set."""
    found: EmbeddingTestFile = get_object_or_404(of_visible_sets(request, stored_files()), pk=pk)
    return found
