"""The peers of `make bench`: NumPy, SciPy and scikit-learn, one command per line of JSON.

The benchmark starts this once and asks for one measurement at a time, so that ours and theirs
alternate within one run. Every answer is a line of JSON; times are taken here, around the work
alone.
"""

import json
import sys
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy
import scipy.sparse
import sklearn
import sklearn.cluster

kept = {}  # arrays that later commands use
THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 2


def timed(work):
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def in_threads(work, pieces):
    """NumPy and SciPy release the interpreter's lock during a call."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, pieces))


def facts(_):
    a = np.ones((64, 64), np.float32)
    a @ a  # loads the library
    return {
        "python": sys.version.split()[0], "numpy": np.__version__, "scipy": scipy.__version__, "sklearn": sklearn.__version__, "blas": blas(),
    }


def blas():
    """The library that computes K @ H, as threadpoolctl reports it."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return "unknown: threadpoolctl is not installed"
    for lib in threadpool_info():
        if lib.get("user_api") == "blas":
            return "%s %s, core %s, %d threads (%s)" % (
                lib.get("internal_api"), lib.get("version"), lib.get("architecture"), lib.get("num_threads"), lib.get("threading_layer"))
    return "unknown: no BLAS library is loaded"


# --- the product K @ H: sums of columns by cluster ------------------------------------------------


def one_hot(labels, k, columns=None):
    h = np.zeros((len(labels), columns or k), np.float32)
    h[np.arange(len(labels)), labels] = 1
    return h


def sparse_one_hot(labels, k):
    """H' by rows of clusters, in one piece for each thread."""
    n = len(labels)
    h = scipy.sparse.csr_matrix((np.ones(n, np.float32), (labels, np.arange(n))), shape=(k, n))
    cuts = [k * t // THREADS for t in range(THREADS + 1)]
    return [h[a:b] for a, b in zip(cuts, cuts[1:]) if b > a]


def sorted_by_cluster(labels, k):
    order = np.argsort(labels, kind="stable")
    return order, np.searchsorted(labels[order], np.arange(k))


# name -> (what it computes from the labels first, the product as n x k). K is symmetric.
PRODUCTS = {
    "K @ H": (one_hot, lambda K, h, k: K @ h),
    "K @ H, H by columns": (lambda l, k: np.asfortranarray(one_hot(l, k)), lambda K, h, k: K @ h),
    "H' @ K": (lambda l, k: np.ascontiguousarray(one_hot(l, k).T), lambda K, h, k: (h @ K).T),
    "K @ H, padded to 16 clusters": (lambda l, k: one_hot(l, k, -(-k // 16) * 16), lambda K, h, k: (K @ h)[:, :k]),
    "rows sorted, add.reduceat": (sorted_by_cluster, lambda K, h, k: np.add.reduceat(K[h[0]], h[1], axis=0).T),
}
SPARSE = "SciPy sparse H' @ K, in threads"
PRODUCTS[SPARSE] = (sparse_one_hot, lambda K, h, k: np.vstack(in_threads(lambda part: part @ K, h)).T)


def product_prepare(c):
    """K has random values from 0 to 1: denormal numbers would slow the products down."""
    K = kept["K"] = np.empty((c["n"], c["n"]), np.float32)
    rng = np.random.default_rng(1)
    for row in range(0, c["n"], 512):
        rng.random(out=K[row:row + 512], dtype=np.float32)
    return {"variants": [v for v in PRODUCTS if v != SPARSE], "sparse": SPARSE}


def product(c):
    labels = np.random.default_rng(c["k"]).integers(0, c["k"], len(kept["K"]))
    labels[:c["k"]] = np.arange(c["k"])
    prepare, multiply = PRODUCTS[c["variant"]]
    h = prepare(labels, c["k"])
    seconds, _ = timed(lambda: multiply(kept["K"], h, c["k"]))
    return {"seconds": seconds}


# --- building the gaussian kernel matrix ----------------------------------------------------------


def points(c):
    return np.fromfile(c["points"], np.float32).reshape(c["n"], c["d"])


def build_plain(X, rho):
    """The product, then distances and exp in place."""
    squares = np.einsum("ij,ij->i", X, X)
    K = X @ X.T
    K *= -2
    K += squares[:, None]
    K += squares[None, :]
    np.maximum(K, 0, out=K)
    K *= np.float32(-0.5 / rho**2)
    np.exp(K, out=K)
    return K


def build_tuned(X, rho):
    """Blocks of rows that stay in the cache, in threads; the scale folded into the points."""
    n = len(X)
    X = X * np.float32(1 / rho)
    halves = np.einsum("ij,ij->i", X, X) / 2
    K = np.empty((n, n), np.float32)
    height = max(1, (1 << 20) // (4 * n))
    np.matmul(X, X.T, out=K)

    def finish(a):
        block = K[a:a + height]
        block -= halves[None, :]
        block -= halves[a:a + height, None]
        np.minimum(block, 0, out=block)
        np.exp(block, out=block)

    in_threads(finish, range(0, n, height))
    return K


BUILDS = {"product, then exp in place": build_plain, "the same in cached blocks and threads": build_tuned}


def build(c):
    X = points(c)
    X -= X.mean(axis=0)
    seconds, K = timed(lambda: BUILDS[c["variant"]](X, c["rho"]))
    return {"seconds": seconds, "mean": float(K[:100].mean(dtype=np.float64))}


# --- kernel k-means, as it is commonly written ----------------------------------------------------


def kmeans_build(c):
    X = points(c)
    kept.pop("K", None)

    def work():
        centered = X - X.mean(axis=0)
        return BUILDS[c["variant"]](centered, c["rho"])

    seconds, kept["K"] = timed(work)
    return {"seconds": seconds}


def kmeans(c):
    """d_ic = K_ii - 2 S_ic / s_c + Q_c / s_c^2; all points move at once, until none does."""
    K, k = kept["K"], c["k"]
    labels = np.fromfile(c["labels"], np.int32)
    prepare, multiply = PRODUCTS[c["variant"]]
    rows, diagonal = np.arange(len(labels)), K.diagonal()

    def means(current):
        """S_ic / s_c and Q_c / s_c^2; an empty cluster is infinitely far."""
        counts = np.bincount(current, minlength=k)
        divisor = np.maximum(counts, 1).astype(np.float32)
        S = multiply(K, prepare(current, k), k) / divisor
        Q = np.bincount(current, weights=S[rows, current], minlength=k) / divisor
        Q[counts == 0] = np.inf
        return S, Q.astype(np.float32), counts

    def fill_empty(current):
        """Each empty cluster gets the point farthest from its own, as in our rule."""
        for cluster in np.flatnonzero(np.bincount(current, minlength=k) == 0):
            S, Q, counts = means(current)
            distance = diagonal - 2 * S[rows, current] + Q[current]
            distance[counts[current] < 2] = -np.inf
            current[distance.argmax()] = cluster
        return current

    def work():
        current, iterations = fill_empty(labels), 0
        while iterations < c["limit"]:
            S, Q, _ = means(current)
            following = fill_empty((Q - 2 * S).argmin(axis=1).astype(np.int32))
            if np.array_equal(following, current):
                break
            current, iterations = following, iterations + 1
        return current, iterations

    seconds, (final, iterations) = timed(work)
    final.tofile(c["out"])
    return {"seconds": seconds, "iterations": iterations}


# --- scikit-learn ---------------------------------------------------------------------------------


def spectral(c):
    """Reads the file, clusters, writes the labels; the interpreter's start is not counted."""
    def read():
        return np.loadtxt(c["csv"], delimiter=",", skiprows=1)

    def fit(X):
        gamma = 0.5 / c["rho"]**2
        return sklearn.cluster.SpectralClustering(c["k"], affinity="rbf", gamma=gamma, random_state=0, n_jobs=THREADS).fit_predict(X)

    reading, X = timed(read)
    fitting, labels = timed(lambda: fit(X))
    writing, _ = timed(lambda: labels.astype(np.int32).tofile(c["out"]))
    return {"seconds": reading + fitting + writing, "reading": reading, "fitting": fitting}


def affinity(c):
    """The gaussian affinity with a zero diagonal, as our cuts have it, in the float64 that scikit-learn works in."""
    X = points(c)
    X -= X.mean(axis=0)
    K = build_tuned(X, c["rho"])
    np.fill_diagonal(K, 0)
    kept["A"] = K.astype(np.float64)
    return {}


def precomputed(c):
    """Spectral clustering of that affinity."""
    model = sklearn.cluster.SpectralClustering(c["k"], affinity="precomputed", random_state=0, n_jobs=THREADS)
    seconds, labels = timed(lambda: model.fit_predict(kept["A"]))
    labels.astype(np.int32).tofile(c["out"])
    return {"seconds": seconds}


def lloyd(c):
    """k-means from the first rows as centroids, with a given number of iterations."""
    X = points(c).astype(c["kind"])
    model = sklearn.cluster.KMeans(c["k"], init=X[:c["k"]].copy(), n_init=1, max_iter=c["iterations"], tol=0, algorithm="lloyd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged, which is intended
        seconds, _ = timed(lambda: model.fit(X))
    return {"seconds": seconds, "iterations": int(model.n_iter_)}


def kmeans_starts(c):
    """k-means from ten starts, on the rows of a file."""
    seconds, _ = timed(lambda: sklearn.cluster.KMeans(c["k"], n_init=10, random_state=0).fit(np.load(c["npy"])))
    return {"seconds": seconds}


def free(_):
    kept.clear()
    return {}


COMMANDS = {f.__name__: f for f in (facts, product_prepare, product, build, kmeans_build, kmeans, spectral, affinity, precomputed, lloyd, kmeans_starts, free)}

for line in sys.stdin:
    try:
        command = json.loads(line)
        answer = COMMANDS[command["do"]](command)
    except Exception as failure:  # the benchmark puts it into its report
        traceback.print_exc()
        answer = {"error": "%s: %s" % (type(failure).__name__, failure)}
    print(json.dumps(answer), flush=True)
