"""What a linter was told to ignore, and that each says why."""

import pytest
from translated import source

SUPPRESSED = {
    (name, skip["id"]): skip.get("comment", "")
    for name, resource in source()["Resources"].items()
    for skip in resource.get("Metadata", {}).get("checkov", {}).get("skip", [])
}
# Every further suppression is a decision: it is added here or not at all.
DECIDED = {"CKV_AWS_27", "CKV_AWS_111", "CKV_AWS_116", "CKV_AWS_118"}


def test_only_decided_findings_are_suppressed():
    assert {finding for _, finding in SUPPRESSED} == DECIDED


@pytest.mark.parametrize("where", SUPPRESSED)
def test_a_suppression_says_why(where):
    assert len(SUPPRESSED[where].split()) >= 8
