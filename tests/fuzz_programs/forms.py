"""All that random programs are made of."""

from __future__ import annotations

from tests.fuzz_programs.expressions import EXPRESSIONS, INEXACT
from tests.fuzz_programs.grammar import Forms, parse_expressions, parse_statements
from tests.fuzz_programs.statements import STATEMENTS


def forms(exact: bool) -> Forms:
    """All forms; with ``exact`` those whose bits do not depend on an order of additions."""
    expressions = parse_expressions(EXPRESSIONS)
    if not exact:
        for kind, more in parse_expressions(INEXACT).items():
            expressions[kind] += more
    return Forms(expressions, parse_statements(STATEMENTS))
