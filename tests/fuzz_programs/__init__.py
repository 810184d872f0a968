"""Random programs: whole Python modules as text, run plain and captured, compared in everything that can be seen.

``expressions`` and ``statements`` are the tables of what programs are made of, ``grammar`` fills them, ``modules``
makes modules, ``outcome`` tells what running one gave, ``check`` compares, ``shrink`` cuts a failing program down,
and ``python -m tests.fuzz_programs`` does that for hours.
"""
