"""Symbolic values: what the tracer's stack, variables and cells hold while no user code runs. One family a file."""
