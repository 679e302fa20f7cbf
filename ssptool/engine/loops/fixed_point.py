"""Fixed-point iteration with constant relaxation."""

from dataclasses import field

from ssptool.dataclass import dataclass
from ssptool.engine.loops.iterate import Proposal, iterate
from ssptool.engine.loops.solution import Convergence, Domain, Floats, Function, Solution, Watch, unwatched


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """x ← x + ω (g(x) − x). Of a scalar loop with gain γ it converges for |1 − ω (1 − γ)| < 1.

    References
    ----------
    Quarteroni, Sacco, Saleri 2007, "Numerical Mathematics", §6.3 (relaxation).
    """

    relaxation: float = 1.0
    convergence: Convergence = field(default_factory=Convergence)
    max_iterations: int = 1000

    def __post_init__(self) -> None:
        if not 0 < self.relaxation <= 1:
            raise ValueError(f"relaxation must be in (0, 1], found {self.relaxation}")

    @property
    def name(self) -> str:
        return "fixed point" if self.relaxation == 1 else f"fixed point (relaxation {self.relaxation:g})"

    def proposal(self) -> Proposal:
        # Without relaxation g(x) is taken as it is, not as x + (g(x) − x), which would round.
        if self.relaxation == 1:
            return lambda x, value: value
        return lambda x, value: x + self.relaxation * (value - x)

    def solve(self, g: Function, x0: Floats, domain: Domain | None = None, watch: Watch = unwatched) -> Solution:
        domain = domain or Domain.of_size(len(x0))
        return iterate(g, x0, domain, self.proposal(), self.convergence, self.max_iterations, self.name, watch)
