"""SSM elements: parameter mappings (SSP 1.0 and 2.0 §7)."""

from ssptool.documents import ssc
from ssptool.documents.element import at_most_one, attribute, children
from ssptool.documents.vocabulary import boolean, string


class MappingEntry(ssc.Base, tag="ssm:MappingEntry"):
    """A name in the parameter source, and the corresponding name in the element that owns the binding."""

    identity = ("source", "target")
    source = attribute(string)
    target = attribute(string)
    suppress_unit_conversion = attribute(boolean, default=False)
    transformation = at_most_one(*ssc.TRANSFORMATIONS)
    annotations = children(ssc.Annotation, within="ssm:Annotations")


class ParameterMapping(ssc.TopLevel, tag="ssm:ParameterMapping"):
    """The root of an SSM file; also inline in an SSD."""

    entries = children(MappingEntry)
    meta_data = children(ssc.MetaData)
    signatures = children(ssc.Signature)
    annotations = children(ssc.Annotation, within="ssm:Annotations")
