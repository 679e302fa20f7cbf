"""The catalogue of semantic rules, and reports of findings.

A rule is a generator over one kind of element. It does not deal with codes, severities and report formats. Start with
`report.check_path`.
"""
