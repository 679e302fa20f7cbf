"""The XML namespaces of SSP with their usual prefixes, and the media types of files (SSP 2.0 §5.2.3, §5.3.3, §5.4).

The namespaces are the same in SSP 1.0 and 2.0: only the root attribute `version` tells the versions apart.
"""

SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"
SSD = "http://ssp-standard.org/SSP1/SystemStructureDescription"
SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
SSM = "http://ssp-standard.org/SSP1/SystemStructureParameterMapping"
SSB = "http://ssp-standard.org/SSP1/SystemStructureSignalDictionary"

NSMAP = {"ssc": SSC, "ssd": SSD, "ssv": SSV, "ssm": SSM, "ssb": SSB}


FMU = "application/x-fmu-sharedlibrary"
SYSTEM_STRUCTURE = "application/x-ssp-definition"
PACKAGE = "application/x-ssp-package"
PARAMETER_SET = "application/x-ssp-parameter-set"
PARAMETER_MAPPING = "application/x-ssp-parameter-mapping"
SIGNAL_DICTIONARY = "application/x-ssp-signal-dictionary"
MODELICA = "text/x-modelica"
TABLE = "text/csv"
"""Of a component whose outputs are the columns of a CSV file, as OMSimulator has them; not in the standard."""
TABLES = (TABLE, "application/table")
"""With the one that OMSimulator wrote before."""


def media_type(stated: str) -> str:
    """What is stated, without parameters and in lower case, as upper case means the same (RFC 2045 §5.1)."""
    return stated.partition(";")[0].strip().lower()
