"""One answer of scikit-learn, by its defaults: peer.py NAME,NAME KIND DATA N K SEED FOLDER [CONSTRAINTS|SEEDS] writes
FOLDER/NAME.csv of each. peer.py export SET FOLDER writes data.csv and labels.csv of a set that scikit-learn has."""
import csv
import os
import re
import sys
import warnings

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn import datasets
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import load_svmlight_file
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.semi_supervised import LabelSpreading


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


def read_table(path):
    """The columns of a table as a person would take them: numbers (with gaps), and words (with gaps, as None). Left out
    are numbers that count the rows, zip codes, dates, and texts that are mostly different."""
    with open(path, newline="") as f:
        first = f.readline()
        f.seek(0)
        semicolons = first.count(";") > first.count(",")
        rows = list(csv.reader(f, delimiter=";" if semicolons else ","))
    head, rows = rows[0], rows[1:]
    numbers, words = [], []
    for name, cells in zip(head, zip(*rows)):
        cells = [None if c.strip() in ("", "NA", "null", "NaN", "?") else c.strip() for c in cells]
        given = [c for c in cells if c is not None]
        if not given or all(re.match(r"\d{4}-\d\d-\d\d", c) for c in given):
            continue
        values = np.array([parse(c, semicolons) for c in cells])
        if np.isnan(values).sum() - (len(cells) - len(given)) > 0.05 * len(given):
            if len(set(given)) <= max(len(given) / 2, 2):
                words.append(cells)
            continue
        whole = values[~np.isnan(values)]
        counts = len(whole) == len(cells) and len(set(whole)) == len(whole) and np.ptp(whole) == len(whole) - 1
        if not counts and name.lower() not in ("id", "zip"):
            numbers.append(values)
    return np.array(numbers).reshape(-1, len(rows)).T, words, np.array([r[0] != "Total" for r in rows])


def parse(cell, comma):
    """A number, also of money or of percent, or NaN."""
    if cell is None:
        return np.nan
    text = cell.strip("$€% ")
    text = text.replace(".", "").replace(",", ".") if comma else text.replace(",", "")
    try:
        return float(text)
    except ValueError:
        return np.nan


def fill(numbers, words):
    """Gaps get the median, and the most frequent word."""
    numbers = np.where(np.isnan(numbers), np.nanmedian(numbers, axis=0), numbers) if numbers.shape[1] else numbers
    usual = [max(set(cells) - {None}, key=cells.count) for cells in words]
    return numbers, [[c or u for c in cells] for cells, u in zip(words, usual)]


def features(path):
    """Gaps filled, numbers standardized, words as one column of 0 and 1 for each; and the rows that are no totals."""
    numbers, words, real = read_table(path)
    numbers, words = fill(numbers, words)
    columns = [StandardScaler().fit(numbers[real]).transform(numbers)] if numbers.shape[1] else []
    for cells in words:
        levels = sorted(set(cells))
        columns.append((np.array(cells)[:, None] == np.array(levels)).astype(float))
    return np.hstack(columns), real


def of_table(path, cluster):
    data, real = features(path)
    labels = np.zeros(len(data), int)
    labels[real] = cluster(data[real])
    return labels


def gower_medoids(path, k, seed):
    """Partitioning around medoids of Gower's distances: the range of a number is 1, words are the same or not, and cells
    that are missing do not count. Ten random starts, and the best medoid of each cluster in turn."""
    numbers, words, real = read_table(path)
    n = len(real)
    total, weight = np.zeros((n, n), np.float32), np.zeros((n, n), np.float32)
    for values in numbers.T:
        span = np.nanmax(values) - np.nanmin(values)
        distance = np.abs(values[:, None] - values[None, :]) / (span or 1)
        total += np.nan_to_num(distance)
        weight += ~np.isnan(distance)
    for cells in words:
        cells = np.array([c or "" for c in cells])
        both = (cells[:, None] != "") & (cells[None, :] != "")
        total += both & (cells[:, None] != cells[None, :])
        weight += both
    distance = total / np.maximum(weight, 1)
    distance = distance[np.ix_(real, real)]
    rng, best = np.random.default_rng(seed), (np.inf, None)
    for _ in range(10):
        medoids = [rng.integers(len(distance))]
        while len(medoids) < k:  # as k-means++ does
            nearest = distance[:, medoids].min(1).astype(float) ** 2
            medoids.append(rng.choice(len(distance), p=nearest / nearest.sum()))
        for _ in range(100):
            labels = distance[:, medoids].argmin(1)
            members = [np.flatnonzero(labels == c) for c in range(k)]
            moved = [m[distance[np.ix_(m, m)].sum(1).argmin()] if len(m) else old for m, old in zip(members, medoids)]
            if moved == medoids:
                break
            medoids = moved
        cost = distance[:, medoids].min(1).sum()
        if cost < best[0]:
            best = cost, distance[:, medoids].argmin(1)
    labels = np.zeros(n, int)
    labels[real] = best[1]
    return labels


def export(name, folder):
    data = getattr(datasets, "load_" + {"wdbc": "breast_cancer"}.get(name, name))()
    os.makedirs(folder, exist_ok=True)
    names = [n.replace(",", " ") for n in data.feature_names]
    np.savetxt(os.path.join(folder, "data.csv"), data.data, fmt="%.10g", delimiter=",", header=",".join(names), comments="")
    np.savetxt(os.path.join(folder, "labels.csv"), data.target, fmt="%d", header="label", comments="")


def silhouette(path, seed):
    def cluster(data):
        best = (-2, None)
        for k in range(2, 9):
            labels = KMeans(k, n_init=10, random_state=seed).fit_predict(data)
            best = max(best, (silhouette_score(data, labels), k, labels), key=lambda b: b[0])
        return best[2]

    return of_table(path, cluster)


def supervised(kind, path, n, seed, seeds):
    """Learners of the given labels, by their names."""
    given = np.array([i for i, _ in seeds])
    known = np.array([c for _, c in seeds])
    everyone = np.full(n, -1)
    everyone[given] = known
    raw = read(kind, path, n) if kind != "table" else None
    if kind == "table":
        data = features(path)[0]
    elif kind == "points":
        data = StandardScaler().fit_transform(raw)
    elif kind == "sparse points":
        data = normalize(raw)

    def spread(points):
        points = points.toarray() if sp.issparse(points) else points
        return LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.2, max_iter=100).fit(points, everyone).transduction_

    def spread_graph():
        degree = np.asarray(raw.sum(1)).ravel()
        scale = sp.diags(1 / np.sqrt(np.maximum(degree, 1e-12)))
        walk, start = scale @ raw @ scale, np.zeros((n, known.max() + 1))
        start[given, known] = 1
        state = start.copy()
        for _ in range(200):
            state = 0.9 * (walk @ state) + 0.1 * start
        labels = state.argmax(1)
        labels[given] = known
        return labels

    def learn(learner, points):
        return learner.fit(points[given], known).predict(points)

    return {
        "spread": lambda: spread(data),
        "spread-raw": lambda: spread(raw),
        "spread-graph": spread_graph,
        "neighbors-5": lambda: learn(KNeighborsClassifier(min(5, len(given))), data),
        "neighbors-5-raw": lambda: learn(KNeighborsClassifier(min(5, len(given))), raw),
        "logistic": lambda: learn(LogisticRegression(max_iter=500), data),
        "forest": lambda: learn(RandomForestClassifier(100, random_state=seed), data),
    }


def main(names, kind, path, n, k, seed, out, known=None):
    n, k, seed, pairs, ways = int(n), int(k), int(seed), [], {}
    if known:
        with open(known, newline="") as f:
            rows = list(csv.DictReader(f))
        if "label" in rows[0]:
            ways = supervised(kind, path, n, seed, [(int(r["index"]), int(r["label"])) for r in rows])
        else:
            pairs = [(int(r["i"]), int(r["j"]), r["kind"].startswith("must")) for r in rows]
    data = None if kind == "table" else read(kind, path, n)
    ways |= {
        "pipeline-kmeans": lambda: of_table(path, KMeans(k, n_init=10, random_state=seed).fit_predict),
        "pipeline-ward": lambda: of_table(path, AgglomerativeClustering(k).fit_predict),
        "pipeline-mixture": lambda: of_table(path, GaussianMixture(k, reg_covar=1e-3, n_init=3, random_state=seed).fit_predict),
        "gower-medoids": lambda: gower_medoids(path, k, seed),
        "silhouette": lambda: silhouette(path, seed),
        "sk-kmeans": lambda: KMeans(k, n_init=10, random_state=seed).fit_predict(data),
        "sk-spectral-rbf": lambda: SpectralClustering(k, gamma=median_width(data, seed), random_state=seed).fit_predict(data),
        "sk-spectral-nn": lambda: SpectralClustering(k, affinity="nearest_neighbors", random_state=seed).fit_predict(data),
        "sk-ward": lambda: AgglomerativeClustering(k).fit_predict(data.toarray() if sp.issparse(data) else data),
        "sk-spectral-graph": lambda: spectral(data, k, seed, pairs),
        "sk-seeded": lambda: seeded(data, k, seed, pairs),
    }
    for name in names.split(","):
        np.savetxt(os.path.join(out, name + ".csv"), ways[name](), fmt="%d", header="label", comments="")


warnings.filterwarnings("ignore")
if sys.argv[1] == "export":
    export(*sys.argv[2:])
else:
    main(*sys.argv[1:])
