"""What the ledger of any run must read."""


def check_ledger(found):
    """The ledger holds nothing but what was planned, never more often; what was planned and not made is stated, and nothing else is."""
    planned = {row["release"]: row for row in found.plan.ledger_rows()}
    made = {row["release"]: row for row in found.privacy.ledger}
    assert len(made) == len(found.privacy.ledger)
    for name, row in made.items():
        assert row | {"times": planned[name]["times"]} == planned[name]
        assert 1 <= row["times"] <= planned[name]["times"]
    left = {name: row["times"] - made.get(name, {"times": 0})["times"] for name, row in planned.items()}
    left = {name: times for name, times in left.items() if times}
    assert found.privacy.not_made == left
    listed = [", ".join(f"{name} x {times}" for name, times in left.items())] if left else []
    stated = [remark for remark in found.notes if remark.startswith("planned and paid for, but not made")]
    assert [remark.rpartition(": ")[2] for remark in stated] == listed
    return left
