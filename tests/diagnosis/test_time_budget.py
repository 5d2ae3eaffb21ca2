from ravine.diagnosis.time_budget import TimeBudget


def test_stages_have_shares_and_never_more_than_is_left():
    budget = TimeBudget(100.0)
    assert 0.0 < budget.begin("first", 0.25) <= 25.0
    assert budget.begin("second", 2.0) <= 100.0
    assert budget.left <= 100.0
    assert TimeBudget(1e-9).begin("late", 0.5) == 0.0


def test_stages_are_told_and_what_is_left_out_is_kept_once():
    told = []
    budget = TimeBudget(10.0, lambda stage, share: told.append((stage, share)))
    budget.begin("surveying", 0.1)
    budget.leave_out("floors")
    budget.leave_out("floors")
    assert told[0][0] == "surveying"
    assert 0.0 <= told[0][1] <= 1.0
    assert budget.left_out == ["floors"]
