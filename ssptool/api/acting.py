"""What acts on a system from outside while it runs."""

from ssptool.engine.stimuli.course import Function as Function
from ssptool.engine.stimuli.course import Table as Table
from ssptool.engine.stimuli.findings import BadInputs as BadInputs
from ssptool.engine.stimuli.findings import BadScenario as BadScenario
from ssptool.engine.stimuli.inputs import Inputs as Inputs
from ssptool.engine.stimuli.origins import input_origins as input_origins
from ssptool.engine.stimuli.scenario import Event as Event
from ssptool.engine.stimuli.scenario import Scenario as Scenario
