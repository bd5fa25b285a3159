"""Time of a round of the literal transcription in tests/literal.py against ours. For rounds.py."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tailproof as tp
from rounds_cases import KERNELS, Case, Payoffs, run_rounds
from tailproof.bandits.arm_optimizer import ArmOptimizer
from tailproof.bandits.posterior.dictionary_features import rank_tolerance

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
import literal

WARM_UP = 16  # untimed rounds after a load


def compare(
    case: Case, means: list[float], file: Path, rounds: int, repetitions: int
) -> dict[str, Any]:
    """Time `repetitions` literal rounds, each beside `rounds` of ours from the saved state."""
    optimizer = tp.load(file)
    t = len(optimizer)
    reference, literal_round = transcribe(case, optimizer)
    prediction = optimizer.predict()
    difference = max(
        _relative(prediction.mean, reference.mean),
        _relative(prediction.std**2, reference.variance),
    )
    stream = Payoffs(np.array(means), seed=5)
    ours, theirs = [], []
    for _ in range(repetitions):
        start = time.process_time()
        literal_round(optimizer.ask_index(), stream.noise(1)[0])
        theirs.append(time.process_time() - start)
        optimizer = tp.load(file)
        run_rounds(optimizer, means, stream.noise(WARM_UP))
        noise = stream.noise(rounds)
        start = time.process_time()
        run_rounds(optimizer, means, noise)
        ours.append((time.process_time() - start) / rounds)
        optimizer = tp.load(file)
    return {
        "case": case.name,
        "t": t,
        "literal_us": 1e6 * float(np.median(theirs)),
        "ours_us": 1e6 * float(np.median(ours)),
        "ratio": float(np.median(np.divide(theirs, ours))),
        "repetitions": repetitions,
        "largest_difference": difference,
    }


def _relative(ours: Any, theirs: Any) -> float:
    """Return the largest difference, relative to the largest value."""
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def transcribe(case: Case, optimizer: ArmOptimizer) -> tuple[Any, Callable[[int, float], None]]:
    """Return the literal algorithm with the optimizer's history, and its round (tell, answer)."""
    kernel, X = KERNELS[case.kernel], optimizer.space.inputs
    K, ridge = kernel.matrix(X, X), optimizer.config.options["ridge"]
    played = optimizer.history.indices.tolist()
    payoffs = optimizer.history.payoffs.tolist()
    truncation = optimizer.schedule.truncation
    posterior: Any = optimizer.posterior
    reference: Any
    if case.policy in ("gp_ucb", "tgp_ucb"):
        reference = literal.LiteralRidge(K=K, ridge=ridge, truncation=lambda t: truncation(t, 0))
        for arm, payoff in zip(played, payoffs, strict=True):
            reference.tell(arm, payoff)
    elif case.features.startswith("Nystrom"):
        reference = _literal_nystrom(case, optimizer)
        reference.played, reference.payoffs = played, payoffs
        reference.dictionary = posterior.dictionary
    else:
        reference = _literal_features(case, optimizer, np.diag(K))
        reference.played, reference.payoffs = played, payoffs
    rng = np.random.default_rng(6)

    def literal_round(arm: int, payoff: float) -> None:
        if case.features.startswith("Nystrom"):
            reference.tell(arm, payoff, rng.random(len(X)))
        else:
            reference.tell(arm, payoff)
        assert np.isfinite(reference.mean).all()
        assert np.isfinite(reference.variance).all()

    return reference, literal_round


def _literal_features(case: Case, optimizer: ArmOptimizer, k_diag: Any) -> Any:
    posterior: Any = optimizer.posterior
    embedding = posterior.embedding
    # Every feature written out, equal ones as often as they occur.
    phi = embedding.coordinates @ embedding.directions.T
    common = {
        "Phi": np.repeat(phi, embedding.copies.astype(int), axis=1),
        "k_diag": k_diag,
        "ridge": optimizer.config.options["ridge"],
        "variance": "ii" if case.features == "Exact" else "i",
    }
    if case.policy == "moma_gp_ucb":
        return literal.LiteralMedianOfMeans(most=posterior.estimator.max_blocks, **common)
    return literal.LiteralFeatures(truncation=optimizer.schedule.truncation, **common)


def _literal_nystrom(case: Case, optimizer: ArmOptimizer) -> Any:
    """Return Algorithms 2 and 3 on the kernel matrix without what our features leave out as zero.

    Both divide by roots of eigenvalues and need a definition of zero; with two of them, numbers
    would differ by what lies between, which is another amount on every processor.
    """
    options = optimizer.config.options
    posterior: Any = optimizer.posterior
    features, horizon = options["features"], options["horizon"]
    authors = case.schedule == "authors"
    delta, eps = options["failure_probability"], features.accuracy
    q = (
        literal.authors_oversampling(T=horizon, eps=eps)
        if authors
        else literal.theorem4_oversampling(delta=delta, T=horizon, eps=eps)
    )
    return literal.LiteralNystrom(
        K=posterior.kernel_coordinates @ posterior.kernel_coordinates.T,
        ridge=options["ridge"],
        oversampling=q,
        truncation=optimizer.schedule.truncation,
        variance="ii",
        once_per_arm=authors,
        leverage="variance/ridge" if authors else "variance",
        cutoff=rank_tolerance(features),
    )
