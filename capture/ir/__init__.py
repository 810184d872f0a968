"""The graph language: types, sizes, operations and the passes over them."""
