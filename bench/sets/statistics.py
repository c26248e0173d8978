"""What a data set looks like: norms, intrinsic dimension, and how far neighbours are away."""
from pathlib import Path

import numpy as np

from sets import store
from sets.definition import KEYS
from sets.random_streams import stream
from sets.vector_files import read_rows

SAMPLE = 500
NEIGHBOURS = 20  # of Levina and Bickel's estimate


def intrinsic_dimension(distances: np.ndarray) -> float:
    """Levina and Bickel's maximum likelihood, averaged as MacKay and Ghahramani correct it.

    `distances`: to the nearest neighbours, a row a point, increasing, none of them 0.
    """
    k = distances.shape[1]
    logs = np.log(distances[:, -1:] / distances[:, :-1]).sum(axis=1) / (k - 2)
    return float(1 / logs.mean())


def sampled_distances(folder: Path, metric: str) -> np.ndarray:
    """From some queries to all base rows, each row sorted; roots for squared metrics."""
    ending = next(folder.glob("base.*bin")).suffix
    base = np.asarray(read_rows(folder / f"base{ending}"))
    queries = read_rows(folder / f"queries{ending}")
    chosen = stream("statistics").permutation(len(queries))[:SAMPLE]
    keys = np.stack([np.sort(KEYS[metric](queries[i], base)) for i in chosen]).astype(np.float32)
    return np.sqrt(keys) if metric == "sqeuclidean" else keys


def norms(rows: np.ndarray) -> np.ndarray:
    chosen = stream("norms").permutation(len(rows))[:20_000]
    return np.linalg.norm(rows[np.sort(chosen)].astype(np.float64), axis=1)


def draw(distances: np.ndarray, title: str, unit: str, target: Path) -> None:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(8, 4.5), constrained_layout=True)
    edges = np.linspace(0, distances.max(), 120)
    for label, chosen in (("all rows", distances.ravel()), ("nearest", distances[:, 0]),
                          ("10th nearest", distances[:, 9]), ("100th nearest", distances[:, 99])):
        axes.hist(chosen, bins=edges, density=True, histtype="step", linewidth=1.6, label=label)
    axes.set(title=title, xlabel=unit, ylabel="density", xlim=(0, distances.max()))
    axes.legend(frameon=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110)


def report(folder: Path, picture: Path | None) -> None:
    manifest = store.read_manifest(folder)
    metric = manifest.get("metric")
    if metric is None:
        raise ValueError(f"{manifest['name']}: statistics are for vectors, this set has strings")
    distances = sampled_distances(folder, metric)
    nearest = distances[:, :NEIGHBOURS]
    apart = nearest[nearest[:, 0] > 0]
    print(f"queries sampled: {len(distances)}; with a base row at distance 0: "
          f"{len(distances) - len(apart)}")
    if metric == "sqeuclidean":
        lengths = norms(read_rows(next(folder.glob("base.*bin"))))
        print(f"norms: mean {lengths.mean():.4g}, deviation {lengths.std():.4g}, "
              f"from {lengths.min():.4g} to {lengths.max():.4g}")
    print(f"intrinsic dimension (maximum likelihood, {NEIGHBOURS} neighbours): "
          f"{intrinsic_dimension(apart):.1f}")
    for label, chosen in (("nearest", distances[:, 0]), ("10th", distances[:, 9]),
                          ("100th", distances[:, 99]), ("all", distances.ravel())):
        print(f"median distance, {label}: {np.median(chosen):.4g}")
    if picture:
        unit = "euclidean distance" if metric == "sqeuclidean" else "differing bits"
        draw(distances, f"{manifest['name']} {manifest['size']}: distances from "
             f"{len(distances)} queries", unit, picture)
