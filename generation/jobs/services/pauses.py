"""How long workers wait, in seconds."""

POLL_SECONDS = 1.0
"""A pause, a cancellation or a request to stop is noticed within this time, however long a batch takes."""
STORAGE_SECONDS = 60.0
"""Until the storage is tried again."""
SERVER_SECONDS = 60.0
"""Until a server that is away is asked again."""
