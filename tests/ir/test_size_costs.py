"""No question about the sizes of a real program takes long: counted in calls of functions, of which a millisecond has
about five thousand.
"""

from tests.ir.size_costs import observed, run_programs

MOST_CALLS = 6_000


def test_questions_of_real_programs_are_answered_soon():
    with observed(counts_calls=True) as costs:
        run_programs()
    for name, cost in costs.items():
        assert cost.times and cost.most_calls <= MOST_CALLS, f"{name}: {cost.costliest}"
