"""The optimizers that the probe tries, and what is compared of two of them. For probe.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tailproof as tp
from tailproof.bandits.arm_optimizer import ArmOptimizer

ARMS = tp.Finite(np.linspace(0.0, 1.0, 9)[:, None])
LABELS = tp.Finite(["ant", "bee", "cat"])
GRAM = tp.Precomputed([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]])
KERNEL = tp.SquaredExponential(0.2)
THEORY: dict[str, Any] = {"moment": tp.MomentBound(0.5, 4.0), "norm_bound": 1.0, "horizon": 1000}
MIXED = tp.Space(
    lr=tp.Float(1e-4, 1e-1, log=True), n=tp.Int(1, 6), act=tp.Choice("a", "b"), k=tp.Fixed(3)
)
TABLE = tp.Configurations([{"x": i / 3.0, "on": i % 2 == 0} for i in range(12)])
EARLY = tp.Options(n_initial=4)  # so that few payoffs reach the model

Optimizer = tp.Optimizer | ArmOptimizer | tp.Bandit
SEARCHES: dict[str, Callable[[int], tp.Optimizer]] = {
    "Optimizer, mixed": lambda seed: tp.Optimizer(MIXED, seed=seed, options=EARLY),
    "Optimizer, minimize": lambda seed: tp.Optimizer(
        tp.Space(x=tp.Float(0, 1)), seed=seed, minimize=True, options=EARLY
    ),
    "Optimizer, table": lambda seed: tp.Optimizer(TABLE, seed=seed, options=EARLY),
}
POLICIES: dict[str, Callable[[int], ArmOptimizer]] = {
    "gp_ucb": lambda seed: tp.gp_ucb(
        ARMS, KERNEL, tp.SubGaussian(1.0, 1.0, 1.0, 0.1), ridge=1.0, seed=seed
    ),
    "tgp_ucb": lambda seed: tp.tgp_ucb(ARMS, KERNEL, **THEORY, seed=seed),
    "tgp_ucb, authors": lambda seed: tp.tgp_ucb(
        LABELS, GRAM, **THEORY, schedule="authors", seed=seed
    ),
    "ata_gp_ucb, Nystrom": lambda seed: tp.ata_gp_ucb(
        ARMS, KERNEL, features=tp.Nystrom(0.5, oversampling=3.0), **THEORY, seed=seed
    ),
    "ata_gp_ucb, quadrature": lambda seed: tp.ata_gp_ucb(
        ARMS, KERNEL, features=tp.QuadratureFourier(32), **THEORY, seed=seed
    ),
    "ata_gp_ucb, random": lambda seed: tp.ata_gp_ucb(
        ARMS, KERNEL, features=tp.RandomFourier(24), **THEORY, seed=seed
    ),
    "moma_gp_ucb": lambda seed: tp.moma_gp_ucb(
        ARMS, KERNEL, features=tp.Exact(), **THEORY, seed=seed
    ),
}

BANDITS: dict[str, Callable[[int], tp.Bandit]] = {
    "Bandit, labels": lambda seed: tp.Bandit(["ant", "bee", "cat", "cow"], seed=seed),
    "Bandit, drift": lambda seed: tp.Bandit([7, 5, 3], half_life=9.0, minimize=True, seed=seed),
    "Bandit, line": lambda seed: tp.Bandit(np.linspace(0.0, 1.0, 9)[:, None], seed=seed),
    "Bandit, grid": lambda seed: tp.Bandit(MIXED, grid=3, seed=seed),
    "Bandit, similarity": lambda seed: tp.Bandit(
        ["ant", "bee", "cat"], similarity=GRAM, explore=0.5, seed=seed
    ),
}


@dataclass
class Tally:
    """How often something was tried, and what of it held."""

    name: str
    tried: int = 0
    held: int = 0
    remarks: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def add(self, remark: str = "", broke: str = "") -> None:
        """Count one trial that held, with a remark of how, or that broke, with the reason."""
        self.tried += 1
        if broke:
            self.broken.append(broke)
            return
        self.held += 1
        if remark:
            self.remarks[remark] = self.remarks.get(remark, 0) + 1

    def __str__(self) -> str:
        remarks = ", ".join(f"{count:,} {remark}" for remark, count in self.remarks.items())
        line = f"{self.name}: tried {self.tried:,}, held {self.held:,}, broke {len(self.broken):,}"
        return "\n".join([line + (f" ({remarks})" if remarks else ""), *self.broken])


def payoff(rng: np.random.Generator, largest: float = 1e200) -> float:
    """Return a heavy-tailed payoff, now and then an extreme one."""
    if rng.random() < 0.03:
        return float(rng.choice([0.0, -0.0, 5e-324, largest, -largest, 1e-200]))
    return float(rng.standard_t(1.2) * 10.0 ** rng.uniform(-1, 3))


def run(optimizer: Any, rounds: int, rng: np.random.Generator) -> None:
    """Ask and tell."""
    for _ in range(rounds):
        optimizer.tell(optimizer.ask(), payoff(rng, largest_payoff(optimizer)))


def largest_payoff(optimizer: Optimizer) -> float:
    """Return the size of extreme payoffs."""
    return 1e140 if isinstance(optimizer, tp.Bandit) else 1e200


def predicted(optimizer: Optimizer) -> Any:
    """Return predictions of all arms, or of a few configurations of the space."""
    if not isinstance(optimizer, tp.Optimizer):
        return optimizer.predict()
    cube = np.random.default_rng(0).random((4, optimizer.space.dimension))
    return optimizer.predict([optimizer.space.params(u) for u in cube])


def plain(value: Any) -> Any:
    """Return a result as text that shows every bit of its numbers."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.tolist()).__repr__()
    if hasattr(value, "__dataclass_fields__"):
        return [plain(getattr(value, name)) for name in value.__dataclass_fields__]
    return repr(value)


def behavior(optimizer: Optimizer, asks: int = 3) -> list[Any]:
    """Return what an optimizer shows and what it does next; its state changes."""
    seen = [repr(optimizer), plain(told(optimizer)), plain(optimizer.pending)]
    for i in range(asks):
        if len(optimizer):
            seen.append(plain(predicted(optimizer)))
            seen.append(plain(optimizer.recommend()))
        asked = optimizer.ask()
        seen.append(plain(asked))
        optimizer.tell(asked, 0.25 * i)
    return seen


def told(optimizer: Optimizer) -> Any:
    """Return all payoffs told, in order, with what they were told for."""
    if isinstance(optimizer, ArmOptimizer):
        history = optimizer.history
        return list(zip(history.indices.tolist(), history.payoffs.tolist(), strict=True))
    if isinstance(optimizer, tp.Bandit):
        log, sign = optimizer._statistics.log, -1.0 if optimizer.minimize else 1.0
        return list(zip(log.arms.tolist(), (sign * log.payoffs).tolist(), strict=True))
    return [(done.trial.number, done.trial.params, done.value) for done in optimizer.trials]


def rebuilt(optimizer: Optimizer) -> Optimizer:
    """Return a new optimizer with the same arguments, told the same payoffs."""
    if isinstance(optimizer, tp.Optimizer):
        same = tp.Optimizer(
            optimizer.space,
            seed=optimizer.seed,
            minimize=optimizer.minimize,
            options=optimizer.options,
        )
        for done in optimizer.trials:
            same.add(done.trial.params, **done.told)
        return same
    if isinstance(optimizer, tp.Bandit):
        return rebuilt_bandit(optimizer)
    config = optimizer.config
    generator = np.random.Generator(
        getattr(np.random, optimizer.random_states()[0]["bit_generator"])()
    )
    generator.bit_generator.state = optimizer.random_states()[0]
    policy = getattr(tp, config.policy)(
        space=config.space, kernel=config.kernel, seed=generator, **config.options
    )
    policy.tell_index(optimizer.history.indices, optimizer.history.payoffs)
    return policy


def rebuilt_bandit(bandit: tp.Bandit) -> tp.Bandit:
    """Return a new bandit on the same arms, told the same payoffs, together or one by one."""
    inputs, similarity = bandit._arms.inputs, bandit._similarity
    arms: Any = bandit.arms if inputs is None else inputs
    log, history = bandit._statistics.log, told(bandit)
    first = len(arms) - sum(count for _, kind, count in log.events if kind == "arms")
    same = tp.Bandit(
        arms[:first],
        similarity=similarity,
        minimize=bandit.minimize,
        half_life=bandit.half_life,
        explore=bandit.explore,
    )
    for at, kind, count in [*log.events, (len(history), "", 0)]:
        for index, value in history[len(same) : at]:
            same.tell_index(index, value)
        if kind == "payoffs":
            same.tell_index(*map(np.array, zip(*history[at : at + count], strict=True)))
        elif kind == "arms":
            same.add_arms(arms[len(same.arms) : len(same.arms) + count])
    return same


def predictions(optimizer: Optimizer) -> np.ndarray:
    """Return predicted means and bands, (k, 3)."""
    found = predicted(optimizer)
    return np.stack([found.mean, found.lower, found.upper], axis=1)


def choices(rng: np.random.Generator, options: Iterable[Any]) -> Any:
    """Return one of several options of any type."""
    listed = list(options)
    return listed[int(rng.integers(len(listed)))]
