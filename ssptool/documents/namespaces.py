"""The five XML namespaces of SSP, and the prefixes by which the standard writes them.

The namespaces are the same in SSP 1.0 and 2.0: only the root attribute `version` tells them apart.
"""

SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"
SSD = "http://ssp-standard.org/SSP1/SystemStructureDescription"
SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
SSM = "http://ssp-standard.org/SSP1/SystemStructureParameterMapping"
SSB = "http://ssp-standard.org/SSP1/SystemStructureSignalDictionary"

NSMAP = {"ssc": SSC, "ssd": SSD, "ssv": SSV, "ssm": SSM, "ssb": SSB}
