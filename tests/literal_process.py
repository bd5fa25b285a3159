"""A Gaussian process written out: covariance matrices over points, loops, no features."""

import math

import numpy as np


def correlation(layout, lengthscales, x, y):
    """Mean over groups of the radial function of the scaled distance within the group."""
    total = 0.0
    for group in range(layout.n_groups):
        squared = sum(
            ((x[k] - y[k]) / lengthscales[layout.parameter_of_column[k]]) ** 2
            for k in range(len(x))
            if layout.group_of_column[k] == group
        )
        if layout.kernel == "matern":
            a = math.sqrt(5.0 * squared)
            total += (1.0 + a + a * a / 3.0) * math.exp(-a)
        else:
            total += math.exp(-squared / 2.0)
    return total / layout.n_groups


def correlations(layout, lengthscales, X, Y):
    return np.array([[correlation(layout, lengthscales, x, y) for y in Y] for x in X]).reshape(
        len(X), len(Y)
    )


def posterior(layout, kernel, points, payoffs, scales, pending, C):
    """Mean, variance and mean of the constant for p = c + g + noise, c ~ N(0, 1), at rows of C.

    Pending points count for the variance as if they had been told, with usual noise.
    """

    def covariance(X, Y):
        return kernel.signal_var * correlations(layout, kernel.lengthscales, X, Y) + 1.0

    K = covariance(points, points) + kernel.noise_var * np.diag(scales**2)
    k = covariance(points, C)
    mean = k.T @ np.linalg.solve(K, payoffs)
    constant = np.ones(len(points)) @ np.linalg.solve(K, payoffs)
    both = np.vstack([points, pending])
    noises = np.append(scales**2, np.ones(len(pending)))
    K = covariance(both, both) + kernel.noise_var * np.diag(noises)
    k = covariance(both, C)
    variance = kernel.signal_var + 1.0 - np.einsum("ij,ij->j", k, np.linalg.solve(K, k))
    return mean, variance, constant


def slope(f, x, step=1e-6):
    """Central differences of a scalar or vector function of x (p,), last axis p."""
    columns = []
    for k in range(len(x)):
        up, down = x.copy(), x.copy()
        up[k] += step
        down[k] -= step
        columns.append((np.asarray(f(up)) - np.asarray(f(down))) / (2.0 * step))
    return np.stack(columns, axis=-1)
