"""Texts and pictures of what the functions of ssptool return, by format."""

from ssptool.api.analysis import LINEAR_RENDERERS as LINEAR_RENDERERS
from ssptool.api.analysis import LOCUS_RENDERERS as LOCUS_RENDERERS
from ssptool.api.analysis import RESPONSE_RENDERERS as RESPONSE_RENDERERS
from ssptool.api.analysis import STEADY_RENDERERS as STEADY_RENDERERS
from ssptool.api.check import PLAIN_REPORT_RENDERERS as PLAIN_REPORT_RENDERERS
from ssptool.api.check import REPORT_RENDERERS as REPORT_RENDERERS
from ssptool.api.check import report_summary as report_summary
from ssptool.api.compare import TRACE_COMPARISON_RENDERERS as TRACE_COMPARISON_RENDERERS
from ssptool.api.doctor import DIAGNOSIS_RENDERERS as DIAGNOSIS_RENDERERS
from ssptool.api.edit import DIFF_RENDERERS as DIFF_RENDERERS
from ssptool.api.edit import unified_diff as unified_diff
from ssptool.api.reproduce import REPRODUCTION_RENDERERS as REPRODUCTION_RENDERERS
from ssptool.api.sensitivities import SENSITIVITY_RENDERERS as SENSITIVITY_RENDERERS
from ssptool.api.study import FIT_RENDERERS as FIT_RENDERERS
from ssptool.api.study import STUDY_RENDERERS as STUDY_RENDERERS
from ssptool.api.understand import EXPLANATION_RENDERERS as EXPLANATION_RENDERERS
from ssptool.api.understand import GRAPH_RENDERERS as GRAPH_RENDERERS
from ssptool.api.understand import INVENTORY_RENDERERS as INVENTORY_RENDERERS
from ssptool.drawing.plot_model import check_plot_name as check_plot_name
from ssptool.engine.planning.plan import call_sequence as call_sequence
from ssptool.engine.planning.stimuli import input_origins as input_origins
from ssptool.rules.chapters import catalogue_page as catalogue_page
from ssptool.rules.chapters import rule_list as rule_list
from ssptool.rules.chapters import rule_page as rule_page
