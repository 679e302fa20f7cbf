"""The catalogue of semantic rules, and reports of findings.

A rule is a generator over one kind of element; codes, severities and formats of reports are no concern of it. Start
with `report.check_path`.
"""
