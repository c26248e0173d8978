"""The three nearest rows of two queries."""

import numpy as np

import nearfield as nf

# Five points of the plane, the second and the last the same; and two queries.
base = np.array([[0, 0], [1, 0], [0, 2], [3, 3], [1, 0]], dtype=np.float32)
queries = np.array([[1, 1], [3, 2]], dtype=np.float32)

found = nf.knn(queries, base, k=3, metric="euclidean")
for query, (distances, ids) in enumerate(zip(*found, strict=True)):
    print(f"query {query}:", *(f" row {i} at {d:g}" for d, i in zip(distances, ids, strict=True)))
