"""Values that the functions of ssptool return, for annotations."""

from ssptool.api.compare import ToleranceFor as ToleranceFor
from ssptool.api.doctor import Diagnosis as Diagnosis
from ssptool.api.edit import Editor as Editor
from ssptool.api.examples import ExampleSystem as ExampleSystem
from ssptool.api.export import Exportable as Exportable
from ssptool.api.export import ExportCapability as ExportCapability
from ssptool.api.export import ExportedFmu as ExportedFmu
from ssptool.api.reproduce import Reproduction as Reproduction
from ssptool.editing.diff import Comparison as Comparison
from ssptool.editing.set_table import ParameterDifference as ParameterDifference
from ssptool.engine.recording.follow import FollowedRun as FollowedRun
from ssptool.engine.run.accuracy import Accuracy as Accuracy
from ssptool.network.dependencies import SystemGraph as SystemGraph
from ssptool.network.explanation import Explanation as Explanation
from ssptool.network.explanation import Explanations as Explanations
from ssptool.network.inventory import Inventory as Inventory
from ssptool.network.network import Network as Network
from ssptool.network.parameter_table import ParameterTable as ParameterTable
from ssptool.results.comparison import TraceComparison as TraceComparison
from ssptool.studies.calibration import Fit as Fit
from ssptool.studies.study_results import StudyResults as StudyResults
