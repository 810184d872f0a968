"""Benchmarks: ``python -m tests.benchmarks``. They run strict: what fell back to Python would be timed as ours."""

import os

os.environ["CAPTURE_STRICT"] = "1"  # read once, when capture is imported
