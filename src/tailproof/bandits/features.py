"""Feature maps: x -> phi(x) with phi(x) . phi(x') close to k(x, x').

Notation: n arms, m features ("directions"), r the rank of the features over the arms. A map is
applied to the arms once, as an `Embedding`

    Phi (n, m) = coordinates (n, r) @ directions (m, r)^T,   directions^T directions = I_r

so that everything of Algorithm 2 happens in r dimensions and its m truncation directions are
recovered by one product. Exact for every map.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tailproof._util import checks
from tailproof.bandits.low_rank import kernel_coordinates
from tailproof.bandits.spectra import Spectrum, hermite_error, spectrum, spectrum_size
from tailproof.kernels import Kernel, Linear, Matern, SquaredExponential, scaled_inputs

Array = NDArray[np.float64]
# Up to this many points the error of quadrature features is measured over all pairs.
MEASURED_POINTS = 2048
LARGEST_FEATURE_MATRIX = 2**25  # entries; with its decomposition about 1 GiB


@dataclass(frozen=True, eq=False)
class Embedding:
    """A feature map applied to the arms.

    `query` maps points (k, d) to coordinates (k, r) and, where points may leave the span of the
    arms' features, the part of phi outside it, (k, u); else None.
    """

    coordinates: Array  # (n, r)
    directions: Array  # (u, r), distinct rows
    copies: Array  # (u,), how many equal (up to sign) directions each row stands for
    query: Callable[[Array], tuple[Array, Array | None]]
    # Whether the coordinates are the kernel coordinates of the arms (or of the played ones), which
    # all Nystrom dictionaries of full rank share.
    kernel_basis: bool = False

    @property
    def size(self) -> int:
        """Number m of features, equal ones counted."""
        return round(float(self.copies.sum()))

    def shares_coordinates(self, other: Embedding) -> bool:
        """Whether both have the arms' kernel coordinates, of which there may come more."""
        both = self.kernel_basis and other.kernel_basis
        return both and self.coordinates.shape == other.coordinates.shape

    def squared_norms(self) -> Array:
        """|phi(x)|^2 of each arm, shape (n,)."""
        return np.einsum("ij,ij->i", self.coordinates, self.coordinates)


@runtime_checkable
class FeatureMap(Protocol):
    """A map that is fixed before the first payoff."""

    def embed(self, kernel: Kernel, X: Array, rng: np.random.Generator) -> Embedding:
        """Apply the feature map to the arms `X` (n, d)."""


@dataclass(frozen=True, eq=False)
class ExplicitFeatures:
    """Features given by a formula: `phi` maps points (k, d) to the distinct ones, (k, u).

    `distance` bounds |phi(x) - phi(z)| for all features and all |x - z| up to an offset (d,).
    """

    phi: Callable[[Array], Array]
    copies: Array  # (u,), how often each occurs
    distance: Callable[[Array], float]


@runtime_checkable
class ExplicitMap(FeatureMap, Protocol):
    """A map with a formula that holds at any point, not only at given arms."""

    def explicit(self, kernel: Kernel, X: Array, rng: np.random.Generator) -> ExplicitFeatures:
        """Return the features; `X` (n, d) are points of the domain."""


def _trigonometric_distance(weights: Array, frequencies: Array) -> Callable[[Array], float]:
    """Return the distance of features sqrt(w) (cos, sin)(omega . x), from |1 - e^(ia)| <= |a|."""
    magnitudes = np.abs(frequencies)

    def distance(offset: Array) -> float:
        return math.sqrt(float(weights @ (magnitudes @ np.abs(offset)) ** 2))

    return distance


def _embed_explicit(features: ExplicitFeatures, X: Array) -> Embedding:
    """Embed features given by a formula; equal columns are kept once, with their count."""
    phi, copies = features.phi, features.copies
    root = np.sqrt(copies)
    left, lengths, right = np.linalg.svd(phi(X) * root, full_matrices=False)
    # The truncation of Alg. 2 sees the features themselves, not only their inner products, so
    # only what is rounding in the features (not in the kernel) may be left out.
    keep = lengths > 1e-13 * lengths[0]
    basis = right[keep].T  # (u, r), orthonormal columns

    def query(points: Array) -> tuple[Array, Array | None]:
        values = phi(points) * root
        inside = values @ basis
        return inside, (values - inside @ basis.T) / root

    coordinates = np.ascontiguousarray(left[:, keep] * lengths[keep])
    return Embedding(coordinates, np.ascontiguousarray(basis / root[:, None]), copies, query)


@dataclass(frozen=True)
class QuadratureFourier:
    """Quadrature Fourier features of the squared exponential kernel (section 5 (a)), and others.

    Gauss-Hermite nodes on a tensor grid: m = nodes^d frequencies with a cosine and a sine each.
    Additive kernels, sums of `Columns(...)`, have as many as their parts together, in any number of
    dimensions. Matern kernels in one column have equidistant nodes; products of kernels on several
    columns have tensor grids (`bandits.spectra`).

    Parameters
    ----------
    nodes
        Nodes a dimension (the paper's m-bar).
    folded
        Of each pair +omega, -omega, whose features repeat each other, keep one with doubled weight:
        half the features and so a smaller beta. False is the paper's form, 2 nodes^d features.

    Examples
    --------
    >>> X, k = np.linspace(0, 1, 50)[:, None], SquaredExponential(0.2)
    >>> qff = QuadratureFourier(nodes=32)
    >>> phi = qff.features(k, X)
    >>> phi.shape, bool(np.abs(phi @ phi.T - k.matrix(X, X)).max() < 1e-10)
    ((50, 32), True)
    >>> QuadratureFourier(32, folded=False).features(k, X).shape
    (50, 64)

    An additive kernel in ten dimensions:

    >>> import functools, operator
    >>> from tailproof.kernels import Columns
    >>> parts = [0.1 * Columns(SquaredExponential(0.3), i) for i in range(10)]
    >>> additive, points = functools.reduce(operator.add, parts), np.zeros((2, 10))
    >>> QuadratureFourier(20).features(additive, points).shape
    (2, 200)
    """

    nodes: int
    folded: bool = True

    def __post_init__(self) -> None:
        checks.integer("nodes", self.nodes, low=1)
        checks.flag("folded", self.folded)

    def features(self, kernel: Kernel, X: Array) -> Array:
        """Return phi(X), shape (n, m), every feature written out."""
        found = self._quadrature(kernel, X)
        return np.repeat(found.phi(X), found.copies.astype(int), axis=1)

    def error_bound(self, kernel: Kernel, X: Array) -> float:
        """Uniform bound on |k(x, y) - phi(x) . phi(y)| over the box around `X` ("QFF error").

        For the squared exponential d 2^(d-1) / sqrt(2) (e / (4 nodes l^2))^nodes on [0, 1]^d; on
        another box the lengthscale is taken relative to its longest side in lengthscales, which can
        only enlarge the bound. For other kernels see `bandits.spectra`.
        """
        if type(kernel) is SquaredExponential:
            return hermite_error(self._longest_side(kernel, X), X.shape[1], self.nodes)
        return self._spectrum(kernel, X).error

    def error(self, kernel: Kernel, X: Array) -> float:
        """Return the largest |k(x, y) - phi(x) . phi(y)| over pairs of the points `X` (n, d).

        Measured, plus 1e-15 for its rounding, for up to 2048 points; else, or where it is smaller,
        `error_bound`.

        Examples
        --------
        >>> X = np.linspace(0, 1, 50)[:, None]
        >>> QuadratureFourier(80).error(SquaredExponential(0.1), X) < 1e-14
        True
        """
        bound = self.error_bound(kernel, X)
        if len(X) > MEASURED_POINTS:
            return bound
        found = self._quadrature(kernel, X)
        values = found.phi(X) * np.sqrt(found.copies)
        measured = float(np.abs(values @ values.T - kernel.matrix(X, X)).max())
        return min(bound, measured + 1e-15)

    def converges(self, kernel: Kernel, X: Array) -> bool:
        """Whether nodes > 1 / l^2, l relative to the longest side of the box (Theorem 3).

        False for kernels other than the squared exponential, which the theorem does not cover.
        """
        if type(kernel) is not SquaredExponential:
            return False
        return math.sqrt(self.nodes) > self._longest_side(kernel, X)

    def nodes_for_theorem(self, horizon: int) -> int:
        """Smallest number of nodes Theorem 3 allows: 2 log_{4/e}(T^3)."""
        return math.ceil(2.0 * 3.0 * math.log(horizon) / math.log(4.0 / math.e))

    def embed(self, kernel: Kernel, X: Array, rng: np.random.Generator) -> Embedding:
        """Apply the feature map to the arms `X` (n, d)."""
        return _embed_explicit(self._quadrature(kernel, X), X)

    def explicit(self, kernel: Kernel, X: Array, rng: np.random.Generator) -> ExplicitFeatures:
        """Return the quadrature features."""
        return self._quadrature(kernel, X)

    def _longest_side(self, kernel: SquaredExponential, X: Array) -> float:
        """Longest side of the box around the arms, in lengthscales: the 1/l of the paper's cube."""
        return float(np.ptp(scaled_inputs(X, kernel.lengthscale), axis=0).max())

    def _spectrum(self, kernel: Kernel, X: Array) -> Spectrum:
        """Return the quadrature frequencies of the kernel, within the memory limit."""
        size = spectrum_size(kernel, X.shape[1], self.nodes)
        if 2 * size * len(X) > LARGEST_FEATURE_MATRIX:
            raise ValueError(
                f"`2 * nodes^d * arms <= {LARGEST_FEATURE_MATRIX}` must hold to keep the features "
                f"in memory, but got nodes={self.nodes}, d={X.shape[1]}, arms={len(X)}; use "
                "Nystrom features."
            )
        return spectrum(kernel, X, self.nodes)

    def _quadrature(self, kernel: Kernel, X: Array) -> ExplicitFeatures:
        """Return the distinct features as a function, and how often each occurs."""
        omega, weight = self._spectrum(kernel, X).halved()
        zero = ~omega.any(axis=1)
        # Of a pair +-omega one is kept; the frequency 0 is its own partner. Its sine is zero: a
        # feature in the paper's count, none when folded.
        pair = np.where(zero, 1.0, 2.0)
        feature_weight = weight * pair if self.folded else weight
        copies = np.ones_like(pair) if self.folded else pair
        keep = ~zero | (not self.folded)
        cosine, sine = np.sqrt(feature_weight), np.sqrt(feature_weight[keep])

        def phi(points: Array) -> Array:
            angle = points @ omega.T
            return np.concatenate([cosine * np.cos(angle), sine * np.sin(angle[:, keep])], axis=1)

        distance = _trigonometric_distance(weight * pair, omega)
        return ExplicitFeatures(phi, np.concatenate([copies, copies[keep]]), distance)


@dataclass(frozen=True)
class RandomFourier:
    """Random Fourier features (Remark 3): for comparison, they carry no sublinear regret bound.

    Each of the random `frequencies` gives a cosine and a sine. The kernel may be
    SquaredExponential or Matern. Frequencies are drawn from the optimizer's seed.

    Examples
    --------
    >>> X, k = np.linspace(0, 1, 30)[:, None], Matern(1.5, 0.3)
    >>> embedding = RandomFourier(2000).embed(k, X, np.random.default_rng(0))
    >>> phi = embedding.coordinates @ embedding.directions.T
    >>> phi.shape, bool(np.abs(phi @ phi.T - k.matrix(X, X)).max() < 0.1)
    ((30, 4000), True)
    """

    frequencies: int

    def __post_init__(self) -> None:
        checks.integer("frequencies", self.frequencies, low=1)

    def embed(self, kernel: Kernel, X: Array, rng: np.random.Generator) -> Embedding:
        """Apply the map, with newly drawn frequencies, to the arms `X` (n, d)."""
        return _embed_explicit(self.explicit(kernel, X, rng), X)

    def explicit(self, kernel: Kernel, X: Array, rng: np.random.Generator) -> ExplicitFeatures:
        """Return the features of newly drawn frequencies."""
        if not isinstance(kernel, SquaredExponential | Matern):
            needed = "SquaredExponential or Matern for RandomFourier features"
            raise ValueError(f"`kernel` must be {needed}, but got {kernel!r}.")
        if 2 * self.frequencies * len(X) > LARGEST_FEATURE_MATRIX:
            raise ValueError(
                f"`2 * frequencies * arms <= {LARGEST_FEATURE_MATRIX}` must hold to keep the "
                f"features in memory, but got frequencies={self.frequencies}, arms={len(X)}."
            )
        omega, lengthscale = rng.standard_normal((self.frequencies, X.shape[1])), kernel.lengthscale
        if isinstance(kernel, Matern):
            # The spectral measure is a multivariate Student-t with 2 nu degrees of freedom.
            chi2 = rng.chisquare(2.0 * kernel.nu, self.frequencies)
            omega *= np.sqrt(2.0 * kernel.nu / chi2)[:, None]

        def phi(points: Array) -> Array:
            angle = scaled_inputs(points, lengthscale) @ omega.T
            both = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
            return both / math.sqrt(self.frequencies)

        weights = np.full(self.frequencies, 1.0 / self.frequencies)
        distance = _trigonometric_distance(weights, scaled_inputs(omega, lengthscale))
        return ExplicitFeatures(phi, np.ones(2 * self.frequencies), distance)


@dataclass(frozen=True)
class LinearFeatures:
    """phi(x) = sqrt(variance) x, the d features of the `Linear` kernel (Remark 7's linear bandit).

    The kernel error is 0, so that Lemma 1 gives the band of Theorem 3's schedule with m = d.

    Examples
    --------
    >>> X, k = np.array([[0.6, 0.8], [1.0, 0.0], [0.0, 0.5]]), Linear(0.5)
    >>> phi = LinearFeatures().features(k, X)
    >>> phi.shape, bool(np.allclose(phi @ phi.T, k.matrix(X, X)))
    ((3, 2), True)
    """

    def features(self, kernel: Kernel, X: Array) -> Array:
        """Return phi(X), shape (n, d)."""
        if type(kernel) is not Linear:
            raise ValueError(f"`kernel` must be Linear for LinearFeatures, but got {kernel!r}.")
        return math.sqrt(kernel.variance) * X

    def embed(self, kernel: Kernel, X: Array, rng: np.random.Generator) -> Embedding:
        """Apply the feature map to the arms `X` (n, d)."""
        return _embed_explicit(self.explicit(kernel, X, rng), X)

    def explicit(self, kernel: Kernel, X: Array, rng: np.random.Generator) -> ExplicitFeatures:
        """Return the d linear features."""
        self.features(kernel, X)  # refuses other kernels
        assert isinstance(kernel, Linear)
        root = math.sqrt(kernel.variance)
        return ExplicitFeatures(
            lambda points: self.features(kernel, points),
            np.ones(X.shape[1]),
            lambda offset: root * float(np.linalg.norm(offset)),
        )


@dataclass(frozen=True)
class Exact:
    """The kernel's own features on finitely many arms: the eigenbasis of their kernel matrix.

    Parameters
    ----------
    tolerance
        Eigenvalues of at most this share of the largest are left out. Fewer directions mean a
        smaller beta; what is left out stays in the variance (choice (ii) of Algorithm 2).

    Examples
    --------
    >>> X, rng = np.linspace(0, 1, 100)[:, None], np.random.default_rng(0)
    >>> Exact(tolerance=1e-9).embed(SquaredExponential(0.2), X, rng).size  # directions
    15
    """

    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        """Check the tolerance of the exact features."""
        checks.in_unit_interval("tolerance", self.tolerance, closed_above=False)

    def embed(self, kernel: Kernel, X: Array, rng: np.random.Generator) -> Embedding:
        """Apply the feature map to the arms `X` (n, d)."""
        psi = kernel_coordinates(kernel, X, self.tolerance)
        lengths = np.einsum("ij,ij->j", psi, psi)
        inverse = psi / np.where(lengths > 0.0, lengths, 1.0)

        def query(points: Array) -> tuple[Array, Array | None]:
            return kernel.matrix(points, X) @ inverse, None

        r = psi.shape[1]
        return Embedding(psi, np.eye(r), np.ones(r), query)


@dataclass(frozen=True)
class Nystrom:
    """Nystrom embedding on a dictionary of past points, redrawn every round (Algorithm 3).

    phi_t(x) = (K_D^(1/2))^+ k_D(x). After round t each past round i puts x_i into the dictionary
    with probability min(q sigma_{t-1}^2(x_i), 1); a point drawn twice enters once. With a small q
    or a small ridge the dictionary's size oscillates: a full one lowers the variances by which the
    next is drawn, which is then sparse, and may be empty (mean 0, variance k(x, x)).

    Parameters
    ----------
    accuracy
        The paper's epsilon in (0, 1); sets q.
    oversampling
        q itself, instead of the schedule's: 6 rho ln(4T/delta) / epsilon^2 with
        rho = (1 + epsilon) / (1 - epsilon) (Theorem 4), or the authors' ln(T) / epsilon^2.
    draws
        "rounds" draws once a past round (Algorithm 3), "sites" once a distinct point, without
        its count (the authors' runs); None leaves it to the schedule.
    reduced
        False (the paper): |D| features. True: the r directions of the eigenbasis of K_D, with the
        same inner products; fewer directions, smaller beta.
    cutoff
        What counts as zero in the pseudo-inverse: directions in which the kernel matrix of all
        arms has an eigenvalue of at most this share of its largest.

    Examples
    --------
    >>> import numpy as np, tailproof as tp
    >>> opt = tp.ata_gp_ucb(tp.Finite(np.linspace(0, 1, 50)[:, None]), tp.Matern(2.5, 0.3),
    ...                     features=Nystrom(accuracy=0.5), moment=tp.MomentBound(1.0, 2.0),
    ...                     norm_bound=1.0, seed=0)
    >>> opt.tell_index([3, 30, 3], [1.0, 0.5, 2.0])
    >>> std = opt.predict().std
    >>> bool(std[3] < std[30] < std[15])
    True
    """

    accuracy: float = 0.1
    oversampling: float | None = None
    draws: str | None = None
    reduced: bool = False
    cutoff: float = 1e-10

    def __post_init__(self) -> None:
        checks.in_unit_interval("accuracy", self.accuracy, closed_above=False)
        checks.in_unit_interval("cutoff", self.cutoff, closed_above=False)
        if self.oversampling is not None:
            checks.positive("oversampling", self.oversampling)
        if self.draws is not None:
            checks.choice("draws", self.draws, ("rounds", "sites"))
        checks.flag("reduced", self.reduced)


def check_features(features: FeatureMap | Nystrom) -> FeatureMap | Nystrom:
    """Return `features` if it is a feature map."""
    if not isinstance(features, Nystrom):
        example = "a feature map such as QuadratureFourier(nodes=32), Nystrom() or Exact()"
        checks.instance("features", features, FeatureMap, example)
    return features
