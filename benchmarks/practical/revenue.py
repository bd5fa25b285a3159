"""Sparse revenue: variants of a shop of which 95 % of the visitors buy nothing.

Both the conversion and the spend of a buyer vary from variant to variant: conversion is 0.05 times
a log-normal factor, spend is Pareto with index 1.8 and a scale of 40 times another; both factors
have a logarithm of standard deviation 0.25. The variance of the spend is infinite.

Visitors are assigned to the variants in turn, as in a controlled experiment, and methods are told
all payoffs before they estimate and recommend. Methods do not choose the variant of a visitor:
that would be 20,000 suggestions in a run, and what is measured here is the estimate.
"""

from __future__ import annotations

import numpy as np

import tailproof as tp
from practical.domains import Params, domain_of
from practical.problem import Problem
from rivals import seeds

CONVERSION, SPEND, INDEX, SPREAD = 0.05, 40.0, 1.8, 0.25
SIZES = tuple((variants, payoffs) for variants in (6, 60) for payoffs in (4_000, 20_000))


def revenue(variants: int, payoffs: int, seed: int) -> Problem:
    """Return the problem of one seed: every seed has other variants."""
    rng = seeds.generator("practical", "revenue", variants, seed)
    conversion = CONVERSION * np.exp(SPREAD * rng.standard_normal(variants))
    spend = SPEND * np.exp(SPREAD * rng.standard_normal(variants))
    means = conversion * spend * INDEX / (INDEX - 1.0)
    names = [f"v{i}" for i in range(variants)]
    index = {name: i for i, name in enumerate(names)}

    def payoff(params: Params, rng: np.random.Generator) -> float:
        i = index[params["variant"]]
        buys = rng.random() < conversion[i]
        return float(spend[i] * (rng.pareto(INDEX) + 1.0)) if buys else 0.0

    return Problem(
        domain=domain_of(tp.Space(variant=tp.Choice(*names))),
        mean=lambda params: float(means[index[params["variant"]]]),
        payoff=payoff,
        best=float(means.max()),
        median=float(np.median(means)),
        evaluations=payoffs,
        assigned=tuple({"variant": name} for name in names),
    )
