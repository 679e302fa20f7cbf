"""What holds for all tests."""

import signal

from hypothesis import HealthCheck, settings

# Examples are whole documents, systems and runs: a machine that is busy takes longer over them than hypothesis expects.
settings.register_profile("whole documents", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("whole documents")

# Shells let what they run in the background ignore interrupts, and so would every process that a test starts and
# interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
