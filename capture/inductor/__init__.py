"""From a graph to loaded machine code: lower, schedule, plan memory, render, build, execute."""
