"""One answer of scikit-learn, by its defaults: peer.py NAME KIND DATA N K SEED LABELS [CONSTRAINTS]."""
import csv
import sys
import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import pairwise_distances


def read(kind, path, n):
    if kind == "sparse points":
        return load_svmlight_file(path)[0]
    values = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    if kind == "points":
        return values
    i, j = values[:, :2].astype(int).T
    weight = values[:, 2] if values.shape[1] > 2 else np.ones(len(i))
    half = sp.coo_matrix((weight, (i, j)), shape=(n, n)).tocsr()
    return half + sp.triu(half, 1).T + sp.tril(half, -1).T


def median_width(points, seed):
    """gamma = 1 / (2 s^2), s the median distance of at most 1000 points."""
    rng = np.random.default_rng(seed)
    some = points[rng.choice(len(points), min(1000, len(points)), replace=False)]
    return 1 / (2 * np.median(pairwise_distances(some)[np.triu_indices(len(some), 1)]) ** 2)


def spectral(data, k, seed, pairs):
    """The graph as it is; a must-link gets the largest weight of the graph, a cannot-link none."""
    if pairs:
        top, data = data.max(), data.tolil()
        for i, j, together in pairs:
            data[i, j] = data[j, i] = top if together else 0
        data = data.tocsr()
        data.eliminate_zeros()
    return SpectralClustering(k, affinity="precomputed", random_state=seed).fit_predict(data)


def seeded(data, k, seed, pairs):
    """k-means of the means of must-linked groups, which weigh as many points as they have. It starts by k-means++ ten
    times and once from groups that are large and far from one another; the least inertia wins."""
    n = data.shape[0]
    must = np.array([(i, j) for i, j, together in pairs if together], dtype=int).reshape(-1, 2)
    links = sp.coo_matrix((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n))
    group = connected_components(links, directed=False)[1]
    size = np.bincount(group)
    means = sp.csr_matrix((1 / size[group], (group, np.arange(n))), shape=(len(size), n)) @ data
    best = KMeans(k, n_init=10, random_state=seed).fit(means, sample_weight=size)
    several = np.flatnonzero(size > 1)
    if len(several) >= k:
        candidates = means[several].toarray() if sp.issparse(means) else means[several]
        starts = [int(np.argmax(size[several]))]
        while len(starts) < k:
            nearest = np.min([((candidates - candidates[s]) ** 2).sum(1) for s in starts], axis=0)
            starts.append(int(np.argmax(nearest * size[several])))
        other = KMeans(k, init=candidates[starts], n_init=1).fit(means, sample_weight=size)
        if other.inertia_ < best.inertia_:
            best = other
    return best.labels_[group]


def main(name, kind, path, n, k, seed, out, constraints=None):
    n, k, seed, pairs = int(n), int(k), int(seed), []
    if constraints:
        with open(constraints, newline="") as f:
            pairs = [(int(r["i"]), int(r["j"]), r["kind"].startswith("must")) for r in csv.DictReader(f)]
    data = read(kind, path, n)
    labels = {
        "sk-kmeans": lambda: KMeans(k, n_init=10, random_state=seed).fit_predict(data),
        "sk-spectral-rbf": lambda: SpectralClustering(k, gamma=median_width(data, seed), random_state=seed).fit_predict(data),
        "sk-spectral-nn": lambda: SpectralClustering(k, affinity="nearest_neighbors", random_state=seed).fit_predict(data),
        "sk-ward": lambda: AgglomerativeClustering(k).fit_predict(data.toarray() if sp.issparse(data) else data),
        "sk-spectral-graph": lambda: spectral(data, k, seed, pairs),
        "sk-seeded": lambda: seeded(data, k, seed, pairs),
    }[name]()
    np.savetxt(out, labels, fmt="%d", header="label", comments="")


warnings.filterwarnings("ignore")
main(*sys.argv[1:])
