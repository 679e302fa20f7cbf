"""FMUs in processes of their own, called as if they were in this one.

`FmuProcess` is such a process as this one sees it, `RemoteBinary` an FMU that is loaded there. Its instances have
functions of FMI like all others; these pass each call on through shared memory (`native/`). `serving` is what happens
there.
"""

from importlib.util import find_spec

AVAILABLE = find_spec("ssptool.fmu.processes._proxy") is not None
"""Whether the native module was built, which it is on Linux."""

MISSING = "FMUs can have processes of their own on Linux only, where ssptool was installed with a C++20 compiler"
"""Why it was not."""
