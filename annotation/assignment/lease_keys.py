"""Lease keys prove that a unit was assigned to an annotator, without a database row (docs/adr/0002-slots.md):
UUIDs of 64 random bits and 64 bits of HMAC-SHA256 over those bits, the annotator and the unit."""

import secrets
from uuid import UUID

from django.utils.crypto import constant_time_compare, salted_hmac

_HALF = 8


def _digest(message: str) -> bytes:
    return salted_hmac("annotation.lease", message, algorithm="sha256").digest()[:_HALF]


def _proof(unique: bytes, *, annotator_id: int, unit_id: int) -> bytes:
    return _digest(f"{unique.hex()}:{annotator_id}:{unit_id}")


def issue(*, annotator_id: int, unit_id: int) -> UUID:
    """A new key. Each lease of a slot has its own."""
    unique = secrets.token_bytes(_HALF)
    return UUID(bytes=unique + _proof(unique, annotator_id=annotator_id, unit_id=unit_id))


def fixed(*, annotator_id: int, unit_id: int, occasion: str) -> UUID:
    """A key that is always the same for this `occasion`: a check, or the next revision of an answer."""
    unique = _digest(f"occasion:{occasion}:{annotator_id}:{unit_id}")
    return UUID(bytes=unique + _proof(unique, annotator_id=annotator_id, unit_id=unit_id))


def was_issued(key: UUID, *, annotator_id: int, unit_id: int) -> bool:
    """Whether this server assigned `unit_id` to `annotator_id` under `key`."""
    unique, proof = key.bytes[:_HALF], key.bytes[_HALF:]
    expected = _proof(unique, annotator_id=annotator_id, unit_id=unit_id)
    return constant_time_compare(proof.hex(), expected.hex())
