"""Tests, and programs that compare and measure; run from the root of the repository."""

import os

# Everything here looks at what is captured, and so must not find it kept; tests/test_kept.py turns it on.
os.environ.setdefault("CAPTURE_WARM_START", "0")  # before capture is imported
