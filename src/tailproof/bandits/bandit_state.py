"""The state of a `Bandit` as a header and arrays, and back: see `tailproof.storage`.

Besides arguments, payoffs and the random generator the file holds the running estimates, because
they depend on when the shared quantities were estimated last. Linked lists, counts and kernel
features are computed again.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from tailproof._compiled import arm_statistics as compiled
from tailproof._util import checks
from tailproof.bandits.arm_set import ArmSet
from tailproof.bandits.bandit import Bandit
from tailproof.bandits.kernel_prior import KernelParameters, KernelPrior
from tailproof.bandits.state import _encode_bit_generator, _generator_in_state
from tailproof.kernels import Precomputed
from tailproof.storage import Arrays, take

if TYPE_CHECKING:
    from tailproof.bandits.arm_statistics import ArmStatistics

FORMAT = "tailproof-bandit"


def to_state(bandit: Bandit) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that describe a bandit."""
    arms, s, log = bandit._arms, bandit._statistics, bandit._statistics.log
    arrays: Arrays = {
        "log.arms": log.arms,
        "log.payoffs": log.payoffs,
        "log.stamps": log.stamps,
        "log.sources": log.sources,
        "stats": s.stats,
        "mean": s.mean,
        "std": s.std,
        "law": s.law,
        "shared": s.shared,
        "active": bandit._active.astype(np.int64),
        "pending": bandit._pending,
        "design": bandit._design.astype(np.int64),
    }
    if arms.inputs is not None:
        arrays["inputs"] = arms.inputs
    if bandit._similarity is not None:
        arrays["similarity"] = bandit._similarity.gram
    header = {
        "arms": len(arms),
        "labels": None if arms.labels is None else list(arms.labels),
        "dimension": None if arms.inputs is None else arms.inputs.shape[1],
        "configurations": arms.configurations,
        "similarity": bandit._similarity is not None,
        "minimize": bandit.minimize,
        "half_life": bandit.half_life,
        "explore": bandit.explore,
        "factor": bandit._factor,
        "payoffs": log.count,
        "clock": log.clock,
        "sources": log.source_names,
        "prior": [s.prior_mean, s.prior_variance],
        "next_refresh": s.next_refresh,
        "random": _encode_bit_generator(bandit._rng.bit_generator.state),
        "kernel": None if bandit._prior is None else _kernel_state(bandit._prior, s, arrays),
    }
    return header, arrays


def _kernel_state(prior: KernelPrior, s: ArmStatistics, arrays: Arrays) -> dict[str, Any]:
    """Return what the state file of a bandit keeps of its kernel prior."""
    arrays["kernel.factor"], arrays["kernel.right"] = prior.factor, prior.right
    arrays["kernel.precision"], arrays["kernel.told"] = prior.precision, prior.told
    if s.residual_center is not None and s.residual_leverage is not None:
        arrays["residual.center"] = s.residual_center
        arrays["residual.leverage"] = s.residual_leverage
    return {
        "parameters": asdict(prior.parameters),
        "mean": prior.mean,
        "unit": prior.unit,
        "next_fit": prior.next_fit,
        "rank": prior.rank,
        "residuals": s.residual_center is not None,
    }


def from_state(header: Any, arrays: Arrays) -> Bandit:
    """Return the bandit that `to_state` described; the arrays it uses are removed."""
    n, count, labels = header["arms"], header["payoffs"], header["labels"]
    arms = labels if labels is not None else take(arrays, "inputs", (n, header["dimension"]))
    gram = take(arrays, "similarity", (n, n)) if header["similarity"] else None
    bandit = Bandit(
        arms,
        similarity=None if gram is None else Precomputed(gram),
        minimize=header["minimize"],
        half_life=header["half_life"],
        explore=header["explore"],
    )
    if len(bandit._arms) != n or (labels is None) != (bandit._arms.labels is None):
        raise ValueError("its arms do not agree with its header.")
    if header["configurations"] is not None:
        if len(header["configurations"]) != n:
            raise ValueError("its configurations do not agree with its arms.")
        bandit._arms = ArmSet(arms, header["configurations"])
    s = bandit._statistics
    told = take(arrays, "log.arms", (count,), np.int64)
    sources = take(arrays, "log.sources", (count,), np.int64)
    for name, indices, bound in (("arms", told, n), ("sources", sources, len(header["sources"]))):
        if count and (indices.min() < 0 or indices.max() >= bound):
            raise ValueError(f"its payoffs have {name} that do not exist.")
    payoffs = checks.payoffs("payoffs", take(arrays, "log.payoffs", (count,)))
    stamps = take(arrays, "log.stamps", (count,))
    s.log.fill(told, payoffs, stamps, sources, list(header["sources"]))
    s.log.clock = checks.non_negative("clock", header["clock"])
    s.stats = take(arrays, "stats", (n, compiled.COLUMNS)).copy()
    counts = s.stats[:, compiled.COUNT].copy()
    s.log.link(s.last, s.stats)
    if not np.array_equal(counts, s.stats[:, compiled.COUNT]) or not np.isfinite(s.stats).all():
        raise ValueError("its statistics do not belong to its payoffs.")
    s.mean = take(arrays, "mean", (n,)).copy()
    s.std = take(arrays, "std", (n,)).copy()
    s.law = take(arrays, "law", s.law.shape).copy()
    s.shared = take(arrays, "shared", s.shared.shape).copy()
    s.prior_mean, s.prior_variance = (checks.number("prior", x) for x in header["prior"])
    s.next_refresh = checks.integer("next_refresh", header["next_refresh"], low=1)
    if not all(np.isfinite(part).all() for part in (s.mean, s.std, s.law, s.shared)):
        raise ValueError("its estimates are not finite.")
    bandit._active = take(arrays, "active", (n,), np.int64) != 0
    bandit._pending = take(arrays, "pending", (n,), np.int64).copy()
    bandit._design = take(arrays, "design", (len(arrays["design"]),), np.int64).copy()
    if bandit._design.size and not 0 <= bandit._design.min() <= bandit._design.max() < n:
        raise ValueError("its first arms do not exist.")
    bandit._factor = checks.non_negative("factor", header["factor"])
    bandit._rng = _generator_in_state(header["random"])
    if header["kernel"] is not None:
        _restore_kernel(bandit, header["kernel"], arrays)
    return bandit


def _restore_kernel(bandit: Bandit, state: Any, arrays: Arrays) -> None:
    """Set the kernel prior of a bandit from its state file."""
    prior, s, n = bandit._prior, bandit._statistics, len(bandit._arms)
    if prior is None:
        raise ValueError("it has a kernel for arms without coordinates.")
    p = state["parameters"]
    scales = tuple(checks.positive("lengthscale", x) for x in p["lengthscale"])
    prior.set_parameters(
        KernelParameters(
            scales,
            checks.positive("smooth_variance", p["smooth_variance"]),
            checks.positive("nugget", p["nugget"]),
        )
    )
    r = prior.rank
    if state["rank"] != r:
        raise ValueError("its kernel features do not agree with its parameters.")
    prior.mean = checks.number("mean", state["mean"])
    prior.unit = checks.positive("unit", state["unit"])
    prior.next_fit = checks.integer("next_fit", state["next_fit"], low=0)
    prior.factor = take(arrays, "kernel.factor", (r, r)).copy()
    prior.right = take(arrays, "kernel.right", (r,)).copy()
    prior.precision = take(arrays, "kernel.precision", (n,)).copy()
    prior.told = take(arrays, "kernel.told", (n,)).copy()
    if not (np.isfinite(prior.factor).all() and (np.diag(prior.factor) > 0.0).all()):
        raise ValueError("its kernel posterior is none.")
    if state["residuals"]:
        s.residual_center = take(arrays, "residual.center", (n,)).copy()
        s.residual_leverage = take(arrays, "residual.leverage", (n,)).copy()
