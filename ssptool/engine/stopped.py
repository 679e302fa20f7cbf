"""What ends an integration from wherever it is."""

from ssptool.engine.ending import Failure


class Stopped(Exception):
    """Carries the reason through callbacks and loops."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure
