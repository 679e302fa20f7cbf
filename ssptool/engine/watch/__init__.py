"""What an FMU is doing at this moment, readable from another process: which function of which instance is in flight.

A `Watch` stands between whoever calls FMUs and the FMUs: the kernel gets stand-ins in place of an FMU's functions
(`_watch.c`), calls from Python go through `around`. Both leave notes in memory that may be shared with a parent
process, so that the notes outlive a crash.
"""

from ssptool.engine.watch.records import NATIVE as NATIVE
from ssptool.engine.watch.records import CallCount as CallCount
from ssptool.engine.watch.records import Cost as Cost
from ssptool.engine.watch.records import SlowestStep as SlowestStep
from ssptool.engine.watch.records import Watch as Watch
from ssptool.engine.watch.records import costs as costs
