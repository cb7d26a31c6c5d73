"""Messages in the broker's queues, and the end of Celery's worker. Database rows decide what is done; a
message only wakes a worker (DESIGN §6)."""

import threading
from collections.abc import Iterable
from typing import Any

from amqp.exceptions import ChannelError
from celery import Task, current_app
from celery.signals import worker_shutting_down

worker_stops = threading.Event()
"""Set when the worker is asked to stop. What takes long looks at it, and gives back what is not done."""


@worker_shutting_down.connect
def _stop(**_: Any) -> None:
    worker_stops.set()


def message_count(queue: str) -> int:
    """Number of messages that no worker has taken yet."""
    # A new connection: a pooled one is dead once the broker has restarted.
    with current_app.connection_for_read() as connection, connection.channel() as channel:
        amqp_channel: Any = channel
        try:
            count: int = amqp_channel.queue_declare(queue, passive=True).message_count
        except ChannelError:  # Redis deletes an empty queue
            return 0
    return count


def resend_messages(task: Task, rows: Iterable[int], *, queue: str) -> int:
    """Send `task` again for the waiting rows if `queue` holds no message; return how many were sent.

    Messages can be lost: the broker is emptied, or a worker is killed while it holds one.
    """
    waiting = list(rows)
    if not waiting or message_count(queue):
        return 0
    for row in waiting:
        task.delay(row)
    return len(waiting)
