"""Loops as nodes of the graph: a part of the user's bytecode, with its control flow, becomes a ``Program``.

``flow`` finds the part, ``evaluating`` evaluates it block by block from generalised states, ``values`` stand for what
is known only when the program runs, ``computing``, ``indexing`` and ``calling`` turn questions about them into steps,
``node`` puts the program into the graph, ``worth`` decides which loops are tried.
"""
