"""How operations of a kernel end."""

from enum import IntEnum

from ssptool.dataclass import dataclass


class Code(IntEnum):
    """How an operation ended."""

    OK = 0
    FMI = 1  # a function returned worse than a warning: see `instance`, `function`, `fmi_status`
    LOOP = 2  # an algebraic loop was not solved by the chord iteration: see `loop`
    NONFINITE = 3  # a component delivered nan or inf: see `instance`, `slot`
    COUPLING = 5  # an iteration of a step did as many iterations as it may, or ran away: see `iterations`
    EVENT = 6  # an instance in event mode has returned before the end of the step
    RANGE = 4  # the integer in `slot` does not fit the type of the input of `instance`


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one kernel operation. `steps` counts the macro steps that `run` finished.

    `instruction` is the place in the program at which `run` stopped; `iterations` those that ITERATE had done in that
    step, the one that failed included.

    `function` is the FMI function that failed. Where an FMI 3.0 step returns OK but did not do what was
    asked, the flag follows after a colon: `fmi3DoStep:earlyReturn`, `…:eventHandlingNeeded`,
    `…:terminateSimulation`. The last of them fails the step after the one in which it was said, which was valid; with
    an early return it fails that step itself.
    """

    code: Code = Code.OK
    instance: int = -1
    function: str = ""
    fmi_status: int = 0
    loop: int = -1
    slot: int = -1
    steps: int = 0
    instruction: int = -1
    iterations: int = 0

    @property
    def ok(self) -> bool:
        return self.code is Code.OK


OK = Outcome()
