"""The paper's thresholds and betas as printed, floats to a float: a part of `literal`."""

import math

# ---- Schedules of the theorems: floats to a float, beta multiplies sigma ------------------------
# beta is beta_{t+1}: computed after t payoffs, it chooses arm x_{t+1}. At t = 0 its noise term
# is zero whatever alpha is (read as printed, alpha = 1 would leave t^0 there).


def theorem1_truncation(t, *, alpha, v):
    """Theorem 1: b_t = v^(1/(1+alpha)) t^(1/(2(1+alpha)))."""
    return v ** (1 / (1 + alpha)) * t ** (1 / (2 * (1 + alpha)))


def theorem1_beta(t, log_det, *, alpha, v, B, ridge, delta):
    """Theorem 1: beta_{t+1} = B + 3/sqrt(lambda) b_t sqrt(ln|I_t + K_t/lambda| + 2 ln(1/delta))."""
    if t == 0:
        return B
    b = theorem1_truncation(t, alpha=alpha, v=v)
    return B + 3 / math.sqrt(ridge) * b * math.sqrt(log_det + 2 * math.log(1 / delta))


def adaptive_truncation(t, log, *, alpha, v):
    """b_t of Theorems 3, 4, given its log: (v/log)^(1/(1+alpha)) t^((1-alpha)/(2(1+alpha)))."""
    return (v / log) ** (1 / (1 + alpha)) * t ** ((1 - alpha) / (2 * (1 + alpha)))


def adaptive_noise(t, log, *, alpha, v):
    """In beta of both: v^(1/(1+alpha)) log^(alpha/(1+alpha)) t^((1-alpha)/(2(1+alpha)))."""
    growth = t ** ((1 - alpha) / (2 * (1 + alpha)))
    return v ** (1 / (1 + alpha)) * log ** (alpha / (1 + alpha)) * growth


def theorem3_truncation(t, m, *, alpha, v, delta, T):
    """Theorem 3 (b_t of Lemma 1): `adaptive_truncation` with log = ln(2 m T / delta).

    m is the number of feature directions, 2 mbar^d: Lemma 1 prints mbar^d there (a slip).
    """
    return adaptive_truncation(t, math.log(2 * m * T / delta), alpha=alpha, v=v)


def theorem3_beta(t, m, *, alpha, v, B, ridge, delta, T):
    """Theorem 3 (Lemma 1): beta_{t+1} = B + 4 sqrt(m/lambda) `adaptive_noise`, m = 2 mbar^d."""
    if t == 0:
        return B
    log = math.log(2 * m * T / delta)
    return B + 4 * math.sqrt(m / ridge) * adaptive_noise(t, log, alpha=alpha, v=v)


def theorem4_truncation(t, m, *, alpha, v, delta, T):
    """Theorem 4: `adaptive_truncation` with log = ln(4 m_t T / delta); m_t = 0 counts as 1."""
    return adaptive_truncation(t, math.log(4 * max(m, 1) * T / delta), alpha=alpha, v=v)


def theorem4_beta(t, m, *, alpha, v, B, ridge, delta, T, eps):
    """Theorem 4: beta_{t+1} = B (1 + 1/sqrt(1-eps)) + 4 sqrt(m_t/lambda) `adaptive_noise`."""
    bias = B * (1 + 1 / math.sqrt(1 - eps))
    if t == 0:
        return bias
    log = math.log(4 * max(m, 1) * T / delta)
    return bias + 4 * math.sqrt(m / ridge) * adaptive_noise(t, log, alpha=alpha, v=v)


def theorem4_oversampling(*, delta, T, eps):
    """Theorem 4: q = 6 rho ln(4T/delta) / eps^2, rho = (1+eps)/(1-eps)."""
    rho = (1 + eps) / (1 - eps)
    return 6 * rho * math.log(4 * T / delta) / eps**2


# ---- Schedules of the authors' runs: beta multiplies sigma / sqrt(lambda) -----------------------
# The runs kept variances as sigma^2 / lambda, so a score is mean + beta * sigma / sqrt(lambda).
# The first arm was drawn uniformly, without a beta: t >= 1 in all of them.


def authors_tgp_truncation(t, *, alpha, v):
    """b_t = v^(1/(1+alpha)) t^(1/(2(1+alpha)))."""
    return v ** (1 / (1 + alpha)) * t ** (1 / (2 * (1 + alpha)))


def authors_tgp_beta(t, *, alpha, v, B, ridge):
    """beta_t = B sqrt(lambda) + b_t sqrt(ln t), for sigma / sqrt(lambda)."""
    b = authors_tgp_truncation(t, alpha=alpha, v=v)
    return B * math.sqrt(ridge) + b * math.sqrt(math.log(t))


def authors_qff_truncation(t, m, *, alpha, v, T):
    """b_t = t^((1-alpha)/(2(1+alpha))) (v / ln(m T))^(1/(1+alpha)), m = 2 mbar^d."""
    return adaptive_truncation(t, math.log(m * T), alpha=alpha, v=v)


def authors_qff_beta(t, m, *, alpha, v, B, ridge, T):
    """beta_t for sigma / sqrt(lambda): B sqrt(lambda) + sqrt(m) `adaptive_noise`, log = ln(m T)."""
    noise = adaptive_noise(t, math.log(m * T), alpha=alpha, v=v)
    return B * math.sqrt(ridge) + math.sqrt(m) * noise


def authors_nystrom_truncation(t, m, *, alpha, v, T):
    """b_t as for QFF with m_t + 1 in place of m inside the logarithm."""
    return adaptive_truncation(t, math.log((m + 1) * T), alpha=alpha, v=v)


def authors_nystrom_beta(t, m, *, alpha, v, B, ridge, T):
    """beta for sigma / sqrt(lambda), as for QFF: m_t under the root, m_t + 1 inside the logarithm.

    Computed after the dictionary of round t, used in round t + 1.
    """
    noise = adaptive_noise(t, math.log((m + 1) * T), alpha=alpha, v=v)
    return B * math.sqrt(ridge) + math.sqrt(m) * noise


def authors_oversampling(*, T, eps):
    """q = ln(T) / eps^2; the runs had lambda = 1, where both leverages are the same."""
    return math.log(T) / eps**2
