"""Memory that a parent and its child see alike, and that stays when the child dies."""

import mmap
import os
import sys
import tempfile


class SharedMemory:
    """Some bytes behind a file descriptor that a child process inherits; zero at first."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor = descriptor
        self.buffer = mmap.mmap(descriptor, max(1, size))

    @classmethod
    def create(cls, size: int) -> "SharedMemory":
        if sys.platform == "linux":
            descriptor = os.memfd_create("ssptool")
        else:
            with tempfile.TemporaryFile() as file:
                descriptor = os.dup(file.fileno())
        try:
            os.ftruncate(descriptor, max(1, size))
        except OSError as error:  # such as a limit of the sizes of files
            os.close(descriptor)
            wanted = f"no {size} bytes of memory to share with a child process"
            raise OSError(error.errno, f"{wanted}: {error.strerror}; run in this process (--in-process)") from error
        return cls(descriptor, size)

    def close(self) -> None:
        """Give up the descriptor; arrays over the buffer stay valid."""
        os.close(self.descriptor)
