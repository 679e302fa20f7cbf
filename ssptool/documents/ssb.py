"""SSB elements: signal dictionaries, whose signals several systems share by name (SSP 1.0 and 2.0 §8)."""

from ssptool.documents import ssc
from ssptool.documents.element import at_most_one, attribute, children
from ssptool.documents.vocabulary import string


class DictionaryEntry(ssc.Base, tag="ssb:DictionaryEntry"):
    """A signal: its name and type."""

    name = attribute(string)
    type = at_most_one(*ssc.TYPES)
    dimensions = children(ssc.Dimension)
    annotations = children(ssc.Annotation, within="ssb:Annotations")

    @property
    def type_name(self) -> str | None:
        """The standard's name of the type, e.g. `Real`; None where the (required) type is missing."""
        return None if self.type is None else self.type.type_name

    @property
    def unit(self) -> str | None:
        return getattr(self.type, "unit", None) or None  # an empty unit counts as missing


class SignalDictionary(ssc.TopLevel, tag="ssb:SignalDictionary"):
    """The root of an SSB file; also inline in an SSD, where `ssd:SignalDictionary` names it."""

    entries = children(DictionaryEntry)
    enumerations = children(ssc.Enumeration, within="ssb:Enumerations")
    units = children(ssc.Unit, within="ssb:Units")
    meta_data = children(ssc.MetaData)
    signatures = children(ssc.Signature)
    annotations = children(ssc.Annotation, within="ssb:Annotations")
