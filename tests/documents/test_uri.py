"""References in documents lead to entries of the archive, and never out of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssptool.documents.uri import UnresolvableUri, resolve, unsafe


@pytest.mark.parametrize(
    ("base", "uri", "name"),
    [
        ("SystemStructure.ssd", "resources/A.fmu", "resources/A.fmu"),
        ("SystemStructure.ssd", "./resources/./A.fmu", "resources/A.fmu"),
        ("SystemStructure.ssd", "resources/x/../A.fmu", "resources/A.fmu"),
        ("SystemStructure.ssd", "resources/My%20Stra%C3%9Fe.fmu", "resources/My Straße.fmu"),
        ("SystemStructure.ssd", "resources/My Straße.fmu", "resources/My Straße.fmu"),
        ("SystemStructure.ssd", " sub.ssp#VariantB.ssd ", "sub.ssp"),
        ("resources/sub/a.ssd", "b.ssv", "resources/sub/b.ssv"),
        ("resources/sub/a.ssd", "../b.ssv", "resources/b.ssv"),
        ("resources/sub/a.ssd", "", "resources/sub/a.ssd"),
        ("SystemStructure.ssd", "#part", "SystemStructure.ssd"),
        ("SystemStructure.ssd", "resources/100%25.fmu", "resources/100%.fmu"),
    ],
)
def test_a_relative_reference_leads_to_an_entry(base, uri, name):
    assert resolve(base, uri) == name


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("http://example.org/a.fmu", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("C:/a.fmu", "scheme"),
        ("//host/a.fmu", "host"),
        ("/etc/passwd", "absolute"),
        ("../a.fmu", "outside the archive"),
        ("resources/../../a.fmu", "outside the archive"),
        ("%2e%2e/a.fmu", "outside the archive"),
        ("resources%2f..%2fa", "slash"),
        ("resources\\a.fmu", "slash"),
        ("..%5Ca.fmu", "slash"),
        ("a.fmu?x=1", "query"),
        ("a%00.fmu", "control"),
        ("a%zz.fmu", "hexadecimal"),
        ("a%FF.fmu", "UTF-8"),
        ("resources/..", "empty"),
    ],
)
def test_a_reference_out_of_the_archive_is_refused_with_its_reason(uri, reason):
    with pytest.raises(UnresolvableUri, match=reason) as caught:
        resolve("SystemStructure.ssd", uri)
    assert caught.value.uri == uri
    assert reason in caught.value.reason


@given(st.text(st.sampled_from("./\\%25eE2fFcC5:#?aA \x00"), max_size=20))
def test_whatever_is_resolved_is_a_safe_name(uri):
    try:
        name = resolve("resources/a.ssd", uri)
    except UnresolvableUri:
        return
    assert unsafe(name) is None
    assert not any(part in ("", ".", "..") for part in name.split("/"))
