"""Questions about a system at one instant: linear models, modes, frequency responses, steady states, sensitivities."""

from ssptool.api.analysis import advise as advise
from ssptool.api.analysis import frequency_response as frequency_response
from ssptool.api.analysis import linearize as linearize
from ssptool.api.analysis import root_locus as root_locus
from ssptool.api.analysis import stability as stability
from ssptool.api.analysis import trim as trim
from ssptool.api.sensitivities import sensitivities as sensitivities
