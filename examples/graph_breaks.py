"""What happens around code that cannot be captured: the graph ends, plain Python runs, a new graph begins."""

import numpy as np

import capture


def normalise(x):
    scaled = (x - x.mean()) / x.std()
    print("largest value:", scaled.max())
    return np.tanh(scaled) * 2.0


if __name__ == "__main__":
    report = capture.explain(normalise)(np.linspace(0.0, 1.0, 1000))
    print(report)
    for graph in report.graphs:
        print(graph.python_code())
