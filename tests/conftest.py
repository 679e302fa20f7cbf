"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# Examples are whole documents, systems and runs: a machine that is busy takes longer over them than hypothesis expects.
settings.register_profile("whole documents", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("whole documents")
