"""Capture everything: test suites that others wrote, run with every Python frame traced, arrays or not.

    python -m tests.everything                       all modules of CPython's tests and NumPy's test suite
    python -m tests.everything --modules test_dict   some of CPython's
    python -m tests.everything --numpy               NumPy's, or --numpy lib/tests/test_format.py
    python -m tests.everything --share 6             what runs in the project's own test suite, six times as much
    python -m tests.everything --reassembled         not traced: every code object is decoded and written again

Every module is run in processes of its own: plainly, plainly with its instructions counted, and with everything
captured; outcomes are compared test by test. See docs/everything.md for how the figures come about.
"""
