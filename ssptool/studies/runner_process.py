"""The process in which the FMUs of a study run.

It tells its parent that it is ready, and then one outcome per task, in order.
"""

import pickle
import sys
from multiprocessing.connection import Connection

from ssptool.dataclass import dataclass
from ssptool.engine.isolation.child import settle
from ssptool.pickling import dumps
from ssptool.studies.definition import Study
from ssptool.studies.outcome import Task
from ssptool.studies.workshop import Workshop


@dataclass(frozen=True, slots=True)
class Orders:
    """What a process is for. `scratch` is a folder that the parent removes."""

    study: Study
    signals: tuple[str, ...]
    reuse: bool
    scratch: str


def main() -> None:
    """Entry of a fresh interpreter: the descriptor of the connection and the parent's id are its arguments."""
    connection = Connection(int(sys.argv[1]))
    orders: Orders = pickle.loads(connection.recv_bytes())
    settle(orders.scratch, int(sys.argv[2]))
    workshop = Workshop(orders.study, orders.signals, reuse=orders.reuse)
    connection.send_bytes(b"")  # ready
    while True:
        try:
            tasks: list[Task] = pickle.loads(connection.recv_bytes())
        except EOFError:
            break
        for task in tasks:
            connection.send_bytes(dumps(workshop.run(task)))
    workshop.close()
