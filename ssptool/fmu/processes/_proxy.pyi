from collections.abc import Mapping

FUNCTIONS: Mapping[str, int]
"""FMI function → address of the one that passes calls on; it takes what `Client.remote` returns as the instance."""
UPDATE: int
"""Addresses of the callbacks of FMUs in a `Host`; their environment is what `Host.place` returns."""
LOG: int
LOG_FORMATTED: int

class Client:
    def __init__(self, descriptor: int) -> None:
        """Of a file in memory, as yet empty, that can be sealed."""

    def process(self, number: int) -> None:
        """Which process answers: one that this one has started."""

    def remote(self, update: int, update_environment: int, log: int, log_environment: int) -> int:
        """The address of one more FMU, with its fmi3IntermediateUpdateCallback and fmi3LogMessageCallback."""

    @property
    def remotes(self) -> int:
        """How many FMUs there are."""

    def request(self, content: bytes, patience: float = 0.0) -> bytes:
        """The answer of who has called `Host.next`. Raises RuntimeError where the process is lost, or gives no answer
        for so long [s]; 0: any time."""

    def distrust(self, wrong: str) -> None:
        """Believe nothing of the process any more, and end it: what it has sent cannot be right."""

    def close(self) -> None:
        """From now on calls are answered by fatal."""

    @property
    def lost(self) -> tuple[int, str, str] | None:
        """The FMU and the function that were called when it turned out that the process has ended; −1: none. At last,
        what it has sent that cannot be right and was ended for, if anything."""

class Host:
    def __init__(self, descriptor: int) -> None:
        """Of the file that a `Client` has."""

    def place(self, index: int) -> int:
        """The environment for the callbacks of an FMU that is made next."""

    def define(self, index: int, component: int, functions: Mapping[str, int]) -> None: ...
    def next(self) -> bytes:
        """Call FMUs until something else is asked for."""

    def answer(self, content: bytes) -> None: ...
