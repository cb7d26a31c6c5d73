"""What lies in a queue of the broker, and what is put there again. The rows are the truth; messages only ring
(DESIGN §6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amqp.exceptions import ChannelError
from celery import Task, current_app


def messages(queue: str) -> int:
    """The messages that no worker has taken yet."""
    # A connection of its own: one that the pool has kept is of no use once the broker was restarted.
    with current_app.connection_for_read() as connection, connection.channel() as channel:
        declared: Any = channel
        try:
            count: int = declared.queue_declare(queue, passive=True).message_count
        except ChannelError:  # Redis forgets an empty queue
            return 0
    return count


def ring_again(task: Task, rows: Iterable[int], *, queue: str) -> int:
    """Ring by `task` for the rows that wait, if no message in `queue` does any more; returns for how many.

    Messages are lost: a broker is emptied, a worker is killed with one in hand.
    """
    waiting = list(rows)
    if not waiting or messages(queue):
        return 0
    for row in waiting:
        task.delay(row)
    return len(waiting)


__all__ = ["messages", "ring_again"]
