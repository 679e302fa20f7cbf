"""Questions about a system: frequency responses, root loci, sensitivities, stability and errors of a coupling."""

from ssptool.api.analysis import advise as advise
from ssptool.api.analysis import frequency_response as frequency_response
from ssptool.api.analysis import root_locus as root_locus
from ssptool.api.analysis import stability as stability
from ssptool.api.sensitivities import sensitivities as sensitivities
