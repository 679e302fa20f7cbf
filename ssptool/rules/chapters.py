"""All chapters of the catalogue. Importing this module enters their rules."""

from ssptool.rules import (
    annotations,
    arrays,
    capabilities,
    clocks,
    connections,
    connectors,
    dictionaries,
    elements,
    enumerations,
    experiment,
    fmu,
    geometry,
    interoperability,
    loops,
    mappings,
    metadata,
    package,
    parameters,
    sources,
    tables,
    transformations,
    units,
    values,
    xml,
)

CHAPTERS = (
    *(package, xml, annotations, enumerations, units, arrays, clocks, transformations, metadata),
    *(elements, connectors, connections, loops),
    *(
        dictionaries,
        parameters,
        values,
        mappings,
        sources,
        fmu,
        tables,
        capabilities,
        geometry,
        experiment,
        interoperability,
    ),
)
"""In the order of the standard."""
