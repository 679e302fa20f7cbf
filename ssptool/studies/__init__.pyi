"""Studies of one system: many runs, their points, the processes that do the runs, their results, plots and reports."""

from ssptool.api.report import report_study as report_study
from ssptool.api.study import new_study as new_study
from ssptool.api.study import plot_study as plot_study
from ssptool.api.study import read_study as read_study
from ssptool.api.study import resume_study as resume_study
from ssptool.api.study import study_results as study_results
