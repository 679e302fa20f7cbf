"""What cannot be simulated, refused by name before anything is loaded."""


class Unsupported(Exception):
    """The system uses something that this version does not simulate."""

    def __init__(self, subject: str, reason: str, advice: str) -> None:
        super().__init__(f"{subject}: {reason}; {advice}")
        self.subject = subject
        self.reason = reason
        self.advice = advice


class UnsupportedByFmu(Unsupported):
    """What was asked for needs a capability that an FMU does not have."""

    def __init__(self, component: str, capability: str, requested: str, alternative: str) -> None:
        super().__init__(
            f"component {component}",
            f"{requested} needs an FMU that {capability}, and this one does not",
            f"the best that it allows: {alternative}",
        )
        self.component = component
        self.capability = capability
        self.requested = requested
        self.alternative = alternative


class UnsupportedCombination(ValueError):
    """Settings that exclude each other."""

    def __init__(self, settings: str, reason: str, advice: str) -> None:
        super().__init__(f"{settings}: {reason}; {advice}")
        self.settings = settings
        self.reason = reason
        self.advice = advice
