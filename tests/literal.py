"""The paper's algorithms as printed: slow, literal, the reference a fast engine is compared with.

Every quantity is computed from scratch, from the whole list of played arms x_1..x_t and payoffs
y_1..y_t, through matrices with one row for each round. Where the print has a slip, the comment
beside the formula says so.

Setting and notation
    arms 0..n-1; K (n, n) their kernel matrix; k_diag (n,) its diagonal k(x, x)
    ridge     the paper's lambda
    t         the number of payoffs told so far
    Phi       (n, m), row x is phi(x)^T; Phi_t (t, m), row tau is phi(x_tau)^T
    mean      (n,), the paper's mu_t(x)
    variance  (n,), the paper's sigma_t^2(x), k(x, x) at t = 0, NOT divided by lambda
    b         the truncation threshold b_t; a payoff of size exactly b is kept
"""

import math

import numpy as np

from literal_schedules import (  # noqa: F401 (part of the transcription)
    adaptive_noise,
    adaptive_truncation,
    authors_nystrom_beta,
    authors_nystrom_truncation,
    authors_oversampling,
    authors_qff_beta,
    authors_qff_truncation,
    authors_tgp_beta,
    authors_tgp_truncation,
    theorem1_beta,
    theorem1_truncation,
    theorem3_beta,
    theorem3_truncation,
    theorem4_beta,
    theorem4_oversampling,
    theorem4_truncation,
)

# ---- Section 3: Algorithm 1 ---------------------------------------------------------------------


class LiteralRidge:
    """Algorithm 1 (TGP-UCB): each payoff is truncated once, at the threshold of its own round.

    `truncation(t)` is b_t. With `truncation=lambda t: math.inf` this is GP-UCB (section 3).
    """

    def __init__(self, *, K, ridge, truncation):
        self.K = np.array(K, dtype=float)
        self.ridge = ridge
        self.truncation = truncation
        self.played = []
        self.payoffs = []  # raw
        self.kept = []  # the paper's Y-hat_t
        self._round = 0  # of `_solution`

    def tell(self, arm, payoff):
        self.played.append(arm)
        self.payoffs.append(payoff)
        # Alg. 1, "Set y-hat_t": y_t 1{|y_t| <= b_t}, decided once and for all.
        self.kept.append(payoff if abs(payoff) <= self.truncation(self.t) else 0.0)

    @property
    def t(self):
        return len(self.played)

    @property
    def K_t(self):
        """(t, t): [k(x_i, x_j)], a row and a column for each round (section 3)."""
        return self.K[np.ix_(self.played, self.played)]

    @property
    def k_t(self):
        """(t, n): column x is k_t(x) = [k(x_1, x), .., k(x_t, x)]^T (section 3)."""
        return self.K[self.played, :]

    @property
    def mean(self):
        if self.t == 0:
            return np.zeros(len(self.K))  # Alg. 1, "Set mu-hat_0"
        # Alg. 1, "Compute": k_t(x)^T (K_t + lambda I_t)^-1 Y-hat_t.
        return self.k_t.T @ self._solved[:, 0]

    @property
    def variance(self):
        k_diag = np.diag(self.K).copy()
        if self.t == 0:
            return k_diag  # Alg. 1, "Set sigma_0^2"
        # Section 3: k(x,x) - k_t(x)^T (K_t + lambda I_t)^-1 k_t(x). Algorithm 1 prints the
        # subtracted term alone (a slip).
        return k_diag - (self.k_t * self._solved[:, 1:]).sum(axis=0)

    @property
    def _solved(self):
        """(t, 1 + n): (K_t + lambda I_t)^-1 [Y-hat_t, k_t(x) of every arm], once a round."""
        if self._round != self.t:
            sides = np.column_stack([self.kept, self.k_t])
            self._solution = np.linalg.solve(self.K_t + self.ridge * np.eye(self.t), sides)
            self._round = self.t
        return self._solution

    @property
    def log_det(self):
        """ln|I_t + K_t / lambda|, as in Theorem 1; 0 at t = 0."""
        if self.t == 0:
            return 0.0
        return float(np.linalg.slogdet(np.eye(self.t) + self.K_t / self.ridge)[1])


# ---- Section 5: the pieces of Algorithm 2 -------------------------------------------------------


def inverse_square_root(V):
    """V^(-1/2), symmetric, of a positive definite V."""
    values, vectors = np.linalg.eigh(V)
    return vectors @ np.diag(1.0 / np.sqrt(values)) @ vectors.T


def pseudo_inverse_of_square_root(A, cutoff):
    """(A^(1/2))^+, symmetric; eigenvalues of A at or below cutoff * the largest count as zero."""
    values, vectors = np.linalg.eigh(A)
    inverse_roots = [1.0 / math.sqrt(w) if w > cutoff * values.max() else 0.0 for w in values]
    return vectors @ np.diag(inverse_roots) @ vectors.T


def regularised_gram(Phi_t, ridge):
    """V_t = Phi_t^T Phi_t + lambda I_m (Alg. 2, "Set Phi_t^T")."""
    return Phi_t.T @ Phi_t + ridge * np.eye(Phi_t.shape[1])


def direction_rows(Phi_t, ridge):
    """(m, t): the rows u_1^T, .., u_m^T of V_t^(-1/2) Phi_t^T (Alg. 2, "Find the rows")."""
    return inverse_square_root(regularised_gram(Phi_t, ridge)) @ Phi_t.T


def truncated_sums(u, y, b):
    """(m,): r_i = sum_tau u_{i,tau} y_tau 1{|u_{i,tau} y_tau| <= b} (Alg. 2, "Find the rows")."""
    weighted = u * np.array(y)
    return np.where(np.abs(weighted) <= b, weighted, 0.0).sum(axis=1)


def median_of_means_sums(u, y, most, played):
    """(m,): r_i = median over g = 0..k-1 of sum_{tau in block g} u_{i,tau} y_tau / share_{i,g}.

    The payoff of round tau is in block (c + x_tau) mod k, c how often the arm x_tau was played
    before. share_{i,g} is the part of block g in sum_tau u_{i,tau}^2. k is chosen in each
    direction: the largest power of two up to `most` with n_i min_g share_{i,g} >= k, where
    n_i = (sum |u_{i,tau}|)^2 / sum u_{i,tau}^2. An even k takes the midpoint of the two middle
    values.
    """
    weighted = u * np.array(y)
    times, turn = {}, []
    for arm in played:
        turn.append(times.get(arm, 0) + arm)
        times[arm] = times.get(arm, 0) + 1
    r = weighted.sum(axis=1)  # k = 1
    k = 2
    while k <= most:
        blocks = [np.array([c % k == g for c in turn]) for g in range(k)]
        for i in range(len(u)):
            squares = u[i] ** 2
            if squares.sum() == 0.0:
                continue
            n = np.abs(u[i]).sum() ** 2 / squares.sum()
            shares = [squares[block].sum() / squares.sum() for block in blocks]
            if n * min(shares) >= k * (1 - 1e-9):
                means = [weighted[i, b].sum() / s for b, s in zip(blocks, shares, strict=True)]
                r[i] = np.median(means)
        k = 2 * k
    return r


def feature_mean(Phi, played, ridge, sums):
    """(n,): mu_t(x) = phi(x)^T theta_t; `sums` turns the rows u (m, t) into r_1..r_m."""
    Phi_t = Phi[played, :]
    root = inverse_square_root(regularised_gram(Phi_t, ridge))  # V_t^(-1/2)
    r = sums(root @ Phi_t.T)  # Alg. 2, "Find the rows": u_1^T, .., u_m^T
    theta = root @ r  # Alg. 2, "Set theta_t": V_t^(-1/2) [r_1, .., r_m]^T
    return Phi @ theta


def feature_variance(Phi, k_diag, played, ridge, form):
    """(n,): sigma_t^2(x) in form (i) or (ii) of Algorithm 2, "Set sigma_t^2"."""
    V = regularised_gram(Phi[played, :], ridge)
    # (i): lambda phi(x)^T V_t^-1 phi(x).
    within = ridge * (Phi.T * np.linalg.solve(V, Phi.T)).sum(axis=0)
    if form == "i":
        return within
    # (ii): k(x,x) - phi(x)^T phi(x) + lambda phi(x)^T V_t^-1 phi(x).
    return k_diag - (Phi * Phi).sum(axis=1) + within


def check_choice(name, value, options):
    if value not in options:
        raise ValueError(f"`{name}` must be one of {list(options)}, but got {name}={value!r}.")


# ---- Section 5: Algorithm 2 with fixed features -------------------------------------------------


class LiteralFeatures:
    """Algorithm 2 (ATA-GP-UCB) with fixed features: every round truncates the whole history anew.

    `truncation(t, m)` is b_t for t payoffs and m directions; `variance` is the form, "i" or "ii".
    """

    def __init__(self, *, Phi, k_diag, ridge, truncation, variance):
        check_choice("variance", variance, ("i", "ii"))
        self.Phi = np.array(Phi, dtype=float)
        self.k_diag = np.array(k_diag, dtype=float)
        self.ridge = ridge
        self.truncation = truncation
        self.form = variance
        self.played = []
        self.payoffs = []

    def tell(self, arm, payoff):
        self.played.append(arm)
        self.payoffs.append(payoff)

    @property
    def t(self):
        return len(self.played)

    @property
    def directions(self):
        return self.Phi.shape[1]

    @property
    def mean(self):
        if self.t == 0:
            return np.zeros(len(self.Phi))  # Alg. 2, "Set: mu_0"
        b = self.truncation(self.t, self.directions)
        return feature_mean(
            self.Phi, self.played, self.ridge, lambda u: truncated_sums(u, self.payoffs, b)
        )

    @property
    def variance(self):
        if self.t == 0:
            return self.k_diag.copy()  # Alg. 2, "Set: sigma_0^2", in both forms
        return feature_variance(self.Phi, self.k_diag, self.played, self.ridge, self.form)


class LiteralMedianOfMeans:
    """Algorithm 2 with a median of means over blocks of rounds in place of the truncated sums.

    `most` is the largest number of blocks. The paper suggests the method (Conclusion) and gives no
    formula.
    """

    def __init__(self, *, Phi, k_diag, ridge, most, variance):
        check_choice("variance", variance, ("i", "ii"))
        self.Phi = np.array(Phi, dtype=float)
        self.k_diag = np.array(k_diag, dtype=float)
        self.ridge = ridge
        self.most = most
        self.form = variance
        self.played = []
        self.payoffs = []

    def tell(self, arm, payoff):
        self.played.append(arm)
        self.payoffs.append(payoff)

    @property
    def t(self):
        return len(self.played)

    @property
    def directions(self):
        return self.Phi.shape[1]

    @property
    def mean(self):
        if self.t == 0:
            return np.zeros(len(self.Phi))
        return feature_mean(
            self.Phi,
            self.played,
            self.ridge,
            lambda u: median_of_means_sums(u, self.payoffs, self.most, self.played),
        )

    @property
    def variance(self):
        if self.t == 0:
            return self.k_diag.copy()
        return feature_variance(self.Phi, self.k_diag, self.played, self.ridge, self.form)


# ---- Section 5 and appendix D: Algorithms 2 and 3 (Nystrom) -------------------------------------


def nystrom_features(K, dictionary, cutoff):
    """(n, |D|): row x is phi_t(x)^T, phi_t(x) = (K_D^(1/2))^+ k_D(x) (Alg. 3, "Return")."""
    K_D = K[np.ix_(dictionary, dictionary)]
    k_D = K[dictionary, :]  # column x is k_D(x)
    return (pseudo_inverse_of_square_root(K_D, cutoff) @ k_D).T


def sample_dictionary_by_rounds(variance, played, q, rng):
    """Algorithm 3's loop as printed, a Bernoulli draw for each past round; the arms of D_t, sorted.

    `variance` (n,) is sigma_{t-1}^2, `played` is x_1..x_t, `rng` a numpy Generator.
    """
    dictionary = set()  # D_t is a set: an arm drawn twice enters once
    for x_i in played:
        z = rng.random() < min(q * variance[x_i], 1.0)
        if z:
            dictionary = dictionary | {x_i}
    return np.array(sorted(dictionary), dtype=int)


class LiteralNystrom:
    """Algorithms 2 and 3 (ATA-GP-UCB-Nystrom): a new dictionary each round, from given uniforms.

    `oversampling` is q. `leverage="variance"` draws with p = min(q sigma_{t-1}^2, 1) as printed,
    "variance/ridge" with the ridge leverage score sigma_{t-1}^2 / lambda of appendix D in its
    place. With `once_per_arm` a played arm is drawn once (the authors' runs), without it once for
    each round that played it (Algorithm 3). `truncation(t, m)` is b_t for a dictionary of m arms.
    """

    def __init__(
        self, *, K, ridge, oversampling, truncation, variance, once_per_arm, leverage, cutoff
    ):
        check_choice("variance", variance, ("i", "ii"))
        check_choice("leverage", leverage, ("variance", "variance/ridge"))
        self.K = np.array(K, dtype=float)
        self.ridge = ridge
        self.oversampling = oversampling
        self.truncation = truncation
        self.form = variance
        self.once_per_arm = once_per_arm
        self.leverage = leverage
        self.cutoff = cutoff
        self.played = []
        self.payoffs = []
        self.dictionary = np.array([], dtype=int)  # arms, ascending

    def tell(self, arm, payoff, uniforms):
        """Append round t and draw D_t; entry j of `uniforms` (n,), in [0, 1), decides arm j."""
        previous_variance = self.variance  # sigma_{t-1}^2: D_{t-1} and x_1..x_{t-1}
        self.played.append(arm)
        self.payoffs.append(payoff)
        entered = []
        for j in sorted(set(self.played)):
            s = previous_variance[j]
            if self.leverage == "variance/ridge":
                s = s / self.ridge
            p = min(self.oversampling * s, 1.0)
            # Alg. 3 draws arm j in each of the N rounds that played it, always with this p; D_t
            # is a set, so j is in it unless all N draws fail.
            N = self.played.count(j)
            chance = p if self.once_per_arm else 1.0 - (1.0 - p) ** N
            if uniforms[j] < chance:
                entered.append(j)
        self.dictionary = np.array(entered, dtype=int)

    @property
    def t(self):
        return len(self.played)

    @property
    def directions(self):
        return len(self.dictionary)

    @property
    def Phi(self):
        """(n, |D_t|), the features of the current dictionary."""
        return nystrom_features(self.K, self.dictionary, self.cutoff)

    @property
    def mean(self):
        if self.directions == 0:  # at t = 0, too
            return np.zeros(len(self.K))
        b = self.truncation(self.t, self.directions)
        return feature_mean(
            self.Phi, self.played, self.ridge, lambda u: truncated_sums(u, self.payoffs, b)
        )

    @property
    def variance(self):
        k_diag = np.diag(self.K).copy()
        if self.directions == 0:  # at t = 0, too; in both forms
            return k_diag
        return feature_variance(self.Phi, k_diag, self.played, self.ridge, self.form)


# ---- The choice of an arm -----------------------------------------------------------------------


def ucb_argmax(mean, variance, beta, tolerance=1e-9):
    """The smallest arm whose score mean + beta sigma is best up to rounding (Alg. 1, 2, "Play").

    Scores within tolerance * (max|mean| + beta max sigma) of the best count as ties, so that two
    computations that differ by rounding choose the same arm.
    """
    std = np.sqrt(np.maximum(variance, 0.0))
    scores = mean + beta * std
    scale = max(1e-300, np.abs(mean).max() + beta * std.max())
    return int(np.flatnonzero(scores >= scores.max() - tolerance * scale)[0])
