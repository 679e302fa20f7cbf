"""Jacobi master: all instances read their inputs, then all step."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from ssptool.engine.kernel.calls import Instruction, Op
from ssptool.engine.masters.master import Coupling, CouplingMaster
from ssptool.engine.masters.program import HOLD, Program, set_inputs
from ssptool.engine.masters.protocols import InputApproximation, Participants
from ssptool.engine.masters.registry import MasterEntry, Refusal, Situation
from ssptool.engine.method_names import ApproximationName, ExchangeName
from ssptool.engine.settings import Choice, Settings


@dataclass(frozen=True, slots=True)
class Jacobi(CouplingMaster):
    """Every instance steps with inputs from the start of the step, held or extrapolated.

    `late`: outputs with direct feedthrough keep the values that their instance delivered at the end of its own step, so
    that they lag one step behind. Many tools couple like this; the option exists to compare with them.

    Held inputs give order 1, extrapolated ones order 2. Parabolas also give order 2, because the first step has no past
    and holds its inputs, and its error remains; in later steps they are more accurate.

    References
    ----------
    Kübler and Schiehlen 2000, "Two methods of simulator coupling".
    """

    inputs: InputApproximation = HOLD
    late: bool = False

    @property
    def name(self) -> str:
        return "jacobi, outputs one step late" if self.late else "jacobi"

    @property
    def independent_steps(self) -> bool:
        return True

    @property
    def follows_a_leader(self) -> bool:
        return True

    def program(self, coupling: Coupling) -> Program:
        together = (coupling.everything,) if coupling.leader is None else coupling.one_by_one()
        steps = ((*set_inputs(one, self.inputs), Instruction(Op.ADVANCE, one.group)) for one in together)
        return Program(tuple(chain.from_iterable(steps)), consistent=not self.late)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        moves = (line for group in groups for line in group.moves(self.inputs.name))
        return (*moves, f"step {', '.join(map(str, groups))}", *([] if self.late else ["evaluate"]))


def _create(inputs: InputApproximation, settings: Settings, situation: Situation) -> tuple[Jacobi, Sequence[Choice]]:
    return Jacobi(inputs, late=settings.exchange is ExchangeName.LATE), ()


MASTER = MasterEntry(
    _create,
    approximation=ApproximationName.EXTRAPOLATE,
    refused_approximations=dict.fromkeys(
        (ApproximationName.INTERPOLATE, ApproximationName.MEAN),
        Refusal(
            "the value at the end of a step is known only after it", "use master iterated, or approximation extrapolate"
        ),
    ),
    settings={
        "exchange": Refusal(
            "late exchange imitates tools that pass outputs on one step late, with fixed steps and without iteration",
            "use master jacobi with fixed steps, or exchange consistent",
        )
    },
)
