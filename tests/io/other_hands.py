"""Vector files as others write and read them: numpy and h5py, from the formats' own documents."""
import h5py
import numpy as np


def write_bin(path, values):
    with open(path, "wb") as file:
        np.array(values.shape, "<u4").tofile(file)
        values.tofile(file)


def read_bin(path, dtype):
    rows, cols = np.fromfile(path, "<u4", 2)
    return np.fromfile(path, dtype, offset=8).reshape(rows, cols)


def write_vecs(path, values):
    counts = np.full((len(values), 1), values.shape[1], "<i4").view("u1")
    np.hstack([counts, np.ascontiguousarray(values).view("u1")]).tofile(path)


def read_vecs(path, dtype):
    cols = np.fromfile(path, "<i4", 1)[0]
    records = np.fromfile(path, "u1").reshape(-1, 4 + cols * np.dtype(dtype).itemsize)
    assert (records[:, :4].copy().view("<i4") == cols).all()
    return records[:, 4:].copy().view(dtype)


def write_npy(path, values):
    np.save(path, values)


def read_npy(path, dtype):
    values = np.load(path)
    assert values.dtype == dtype, values.dtype
    return values


def write_truth(path, values):
    """The ids, and distances made of them."""
    with open(path, "wb") as file:
        np.array(values.shape, "<u4").tofile(file)
        values.astype("<u4").tofile(file)
        distances_of(values).tofile(file)


def read_truth(path, dtype):
    values = np.fromfile(path, "<u4")
    rows, cols = values[:2]
    ids, distances = values[2:].reshape(2, rows, cols)
    assert (distances.view("<f4") == distances_of(ids.view("<i4"))).all()
    return ids.view("<i4").astype(dtype)


def distances_of(ids):
    return np.sqrt(np.abs(ids)).astype("<f4")


def write_hdf5(path, values):
    file, dataset = path.split(":")
    with h5py.File(file, "a") as hdf5:
        hdf5[dataset] = values


def read_hdf5(path, dtype):
    file, dataset = path.split(":")
    with h5py.File(file) as hdf5:
        values = hdf5[dataset][:]
    assert values.dtype == dtype, values.dtype
    return values
