"""What is run: CPython's modules of tests about the language and the pure-Python library, and NumPy's files.

In: nothing. Out: names, and which outcomes are expected to differ.
"""

from __future__ import annotations

import platform
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np

CPYTHON = """
test_grammar test_generators test_genexps test_exceptions test_exception_variations test_baseexception test_with
test_scope test_class test_descr test_descrtut test_dict test_dictcomps test_dictviews test_list test_listcomps
test_set test_setcomps test_tuple test_range test_slice test_bool test_int test_float test_complex test_long
test_itertools test_functools test_dataclasses test_enum test_contextlib test_collections test_defaultdict
test_deque test_ordered_dict test_userdict test_userlist test_userstring test_patma test_string test_format
test_fstring test_unicode test_str test_bytes test_richcmp test_compare test_decorators test_super test_property
test_unpack test_unpack_ex test_extcall test_keywordonlyarg test_positional_only_arg test_named_expressions
test_exception_group test_except_star test_raise test_operator test_heapq test_bisect test_textwrap test_json
test_statistics test_fractions test_decimal test_numeric_tower test_copy test_re test_tokenize test_argparse
test_abc test_augassign test_binop test_call test_contains test_dynamicclassattribute test_enumerate test_funcattrs
test_index test_isinstance test_iter test_lambda test_metaclass test_opcodes test_pow test_print test_reprlib
test_shelve test_sort test_string_literals test_subclassinit test_types test_typechecks test_unary test_weakref
test_weakset test_shlex test_pprint test_graphlib test_difflib test_calendar test_colorsys test_configparser test_csv
test_datetime test_getopt test_fnmatch test_html test_htmlparser test_keyword test_linecache test_optparse
test_posixpath test_genericpath test_random test_sched test_queue test_quopri test_base64 test_struct test_typing
test_urlparse test_uuid test_strtod test_global test_ast test_inspect test_dis test_codeop test_traceback
test_warnings test_yield_from test_coroutines test_asyncgen test_unittest test_doctest
"""
"""Not every Python has all of them."""


class Module(NamedTuple):
    """One thing to run: ``kind`` says by whom."""

    kind: str
    name: str

    @property
    def file(self) -> str:
        """The name without the pattern that says which of its tests."""
        return self.name.partition(":")[0]


def cpython() -> list[Module]:
    """Those that this Python ships."""
    return [Module("cpython", name) for name in dict.fromkeys(CPYTHON.split()) if is_shipped(name)]


def is_shipped(name: str) -> bool:
    import test

    folder = Path(test.__path__[0])
    return (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists()


LEFT_OUT = {
    "_core/tests/test_multithreading.py": "other threads are not captured",
    "_core/tests/test_cython.py": "compiles for minutes",
    "_core/tests/test_limited_api.py": "compiles for minutes",
    "f2py": "compiles for minutes",
    "typing": "runs mypy",
}


def numpys() -> list[Module]:
    """All test files that NumPy's wheel ships, except for what does not run there."""
    root = Path(np.__file__).parent
    names = (path.relative_to(root).as_posix() for path in sorted(root.rglob("tests/test_*.py")))
    return [Module("numpy", name) for name in names if not name.startswith(tuple(LEFT_OUT))]


class Expected(NamedTuple):
    """A difference that is known, and why. ``version`` is "3.12", or "*"; one that begins with ``!`` is not run."""

    version: str
    module: str
    test: str
    reason: str

    @property
    def is_run(self) -> bool:
        """Whether the process survives it."""
        return not self.reason.startswith("!")

    def covers(self, module: str, test: str) -> bool:
        return self.module == module and fnmatchcase(test, self.test)


EXPECTED = Path(__file__).with_name("expected.txt")


def expected(text: str | None = None) -> list[Expected]:
    """The expected differences on this Python: lines ``version module test reason``."""
    lines = (EXPECTED.read_text() if text is None else text).splitlines()
    found = [Expected(*line.split(maxsplit=3)) for line in lines if line.strip() and not line.startswith("#")]
    return [entry for entry in found if entry.version in ("*", platform.python_version().rpartition(".")[0])]
