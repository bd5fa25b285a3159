"""Random sequences of calls, good and bad input, in any order. For probe.py.

Bad input must raise ValueError and change nothing; nothing else may raise. What was told is kept
apart and compared. After a save, the optimizer and its loaded copy get the same calls and must
return the same results.
"""

from __future__ import annotations

import math
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tailproof as tp
from probe_cases import (
    BANDITS,
    POLICIES,
    SEARCHES,
    Optimizer,
    Tally,
    choices,
    payoff,
    plain,
    predicted,
    told,
)
from tailproof.bandits.arm_optimizer import ArmOptimizer

BAD_PAYOFFS = (math.nan, math.inf, -math.inf, "x", None, 1e300, [1.0, math.nan], True, {})
BAD_PLACES = (None, -1, 99, 10**30, 0.5, "nobody", [], {}, [[]], [[0.123, 4.0]], np.nan, object())
LENGTHS = (5, 25)


class Broken(Exception):
    """Something that must hold does not."""


def probe(count: int, folder: Path, seed: int = 0) -> list[Tally]:
    """Run sequences on every optimizer in turn, and return what came of it."""
    tallies = []
    cases = SEARCHES | POLICIES | BANDITS
    for index, (name, build) in enumerate(cases.items()):
        tally = Tally(f"call sequences, {name}")
        for number in range(index, count, len(cases)):
            rng = np.random.default_rng([seed, 2, number])
            calls: list[str] = []
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    warnings.simplefilter("ignore", tp.TheoryWarning)
                    sequence(build(number), folder / "run.npz", rng, calls)
                tally.add()
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                tally.add(
                    broke=f"sequence {number}, {' '.join(calls)}: {type(error).__name__} {error} "
                    f"({where.filename}:{where.lineno})"
                )
        tallies.append(tally)
    return tallies


def sequence(optimizer: Optimizer, path: Path, rng: np.random.Generator, calls: list[str]) -> None:
    """Call an optimizer, and after a save its loaded copy too, in random order."""
    twins, ledger = [optimizer], told(optimizer)
    operations = SEARCH if isinstance(optimizer, tp.Optimizer) else POLICY
    if isinstance(optimizer, tp.Bandit):
        operations = BANDIT
    names, weights = list(operations), np.array([weight for weight, _ in operations.values()])
    for _ in range(int(rng.integers(*LENGTHS))):
        name = names[int(rng.choice(len(names), p=weights / weights.sum()))]
        calls.append(name)
        if name == "save":
            twins[0].save(path)
            twins = [twins[0], tp.load(path)]
            if rng.random() < 0.5:
                twins.reverse()
            continue
        seed = int(rng.integers(2**32))
        results = []
        for twin in twins:
            results.append(operations[name][1](twin, np.random.default_rng(seed)))
        if any(result != results[0] for result in results):
            raise Broken("the loaded copy returns something else")
        now = told(twins[0])
        if plain(now[: len(ledger)]) != plain(ledger):
            raise Broken("something told is lost or changed")
        ledger = now
        if any(plain(told(twin)) != plain(ledger) for twin in twins):
            raise Broken("the loaded copy was told something else")


def refuses(optimizer: Optimizer, call: Any) -> str:
    """Make a call that must raise ValueError and change nothing."""
    before = plain(told(optimizer)), plain(optimizer.pending)
    try:
        call()
    except ValueError as error:
        if before != (plain(told(optimizer)), plain(optimizer.pending)):
            raise Broken(f"refused, and changed all the same: {error}") from error
        return str(error)
    raise Broken("bad input is accepted")


def finite(*numbers: Any) -> None:
    for number in numbers:
        if not np.isfinite(number).all():
            raise Broken(f"a result is not finite: {number}")


def ask(optimizer: Any, rng: np.random.Generator) -> Any:
    return plain(optimizer.ask())


def predict(optimizer: Any, rng: np.random.Generator) -> Any:
    if not isinstance(optimizer, ArmOptimizer) and not len(optimizer):
        return refuses(optimizer, lambda: predicted(optimizer))
    found = predicted(optimizer)
    finite(found.mean, found.lower, found.upper)
    return plain(found)


def recommend(optimizer: Any, rng: np.random.Generator) -> Any:
    if not len(optimizer):
        return refuses(optimizer, optimizer.recommend)
    found = optimizer.recommend()
    finite(found.mean, found.lower, found.upper)
    if not found.lower <= found.mean <= found.upper:
        raise Broken("the mean lies outside its interval")
    return plain(found)


def bad_predict(optimizer: Any, rng: np.random.Generator) -> Any:
    bad = choices(rng, [place for place in BAD_PLACES if place is not None])
    if isinstance(optimizer, tp.Optimizer):
        return refuses(optimizer, lambda: optimizer.predict([bad], level=0.9))
    if isinstance(bad, int | float) and optimizer.space.labels is None and math.isfinite(bad):
        return ""  # a point on the line like any other
    return refuses(optimizer, lambda: optimizer.predict([bad]))


# ---- the practical optimizer ---------------------------------------------------------------------


def random_params(optimizer: Any, rng: np.random.Generator) -> dict[str, Any]:
    return optimizer.space.params(rng.random(optimizer.space.dimension))


def tell(optimizer: Any, rng: np.random.Generator) -> Any:
    if not optimizer.pending:
        return ask(optimizer, rng)
    trial = choices(rng, optimizer.pending)
    value, count = payoff(rng), len(optimizer)
    optimizer.tell(trial if rng.random() < 0.5 else trial.number, value)
    last = [(done.trial, done.value) for done in optimizer.trials[count:]]
    if last != [(trial, value)]:
        raise Broken("a payoff told is not there")
    return None


def bad_tell(optimizer: Any, rng: np.random.Generator) -> Any:
    pending, complete = optimizer.pending, optimizer.trials
    if pending and rng.random() < 0.4:
        return refuses(optimizer, lambda: optimizer.tell(pending[0], choices(rng, BAD_PAYOFFS)))
    if complete and rng.random() < 0.5:
        return refuses(optimizer, lambda: optimizer.tell(choices(rng, complete).trial, 1.0))
    return refuses(
        optimizer, lambda: optimizer.tell(choices(rng, (None, -1, 10**6, 0.5, "0", True)), 1.0)
    )


def add(optimizer: Any, rng: np.random.Generator) -> Any:
    params, value = random_params(optimizer, rng), payoff(rng)
    return plain(optimizer.add(params, value))


def bad_add(optimizer: Any, rng: np.random.Generator) -> Any:
    params = random_params(optimizer, rng)
    if rng.random() < 0.5:
        return refuses(optimizer, lambda: optimizer.add(params, choices(rng, BAD_PAYOFFS)))
    name = choices(rng, params)
    changed = params | {name: choices(rng, (None, "nowhere", math.nan, 1e9, -5, [], object()))}
    if rng.random() < 0.3:
        del changed[name]
    text = refuses(optimizer, lambda: optimizer.add(changed, 1.0))
    return text.partition(" at 0x")[0]


def withdraw(optimizer: Any, rng: np.random.Generator) -> Any:
    if not optimizer.pending:
        return refuses(optimizer, lambda: optimizer.withdraw(0))
    optimizer.withdraw(choices(rng, optimizer.pending))
    return plain(optimizer.pending)


def late(optimizer: Any, rng: np.random.Generator) -> Any:
    """Withdraw a trial, and tell it all the same."""
    if not optimizer.pending:
        return None
    trial = choices(rng, optimizer.pending)
    optimizer.withdraw(trial)
    optimizer.tell(trial, payoff(rng))
    return plain(optimizer.pending)


def propose(optimizer: Any, rng: np.random.Generator) -> Any:
    pending = [random_params(optimizer, rng) for _ in range(int(rng.integers(3)))]
    return plain(optimizer.propose(int(rng.integers(40)), pending))


SEARCH = {
    "ask": (3.0, ask),
    "tell": (5.0, tell),
    "add": (3.0, add),
    "withdraw": (1.0, withdraw),
    "late": (0.5, late),
    "propose": (0.5, propose),
    "predict": (1.0, predict),
    "recommend": (0.7, recommend),
    "save": (1.0, None),
    "bad-tell": (1.0, bad_tell),
    "bad-add": (1.0, bad_add),
    "bad-predict": (0.5, bad_predict),
}


# ---- policies ----------------------------------------------------------------------------------


def arm(optimizer: Any, rng: np.random.Generator) -> Any:
    """Return an arm that is pending, or any."""
    pending = optimizer.pending
    if len(pending) and rng.random() < 0.7:
        return int(rng.choice(pending))
    return int(rng.integers(len(optimizer.space)))


def tell_arm(optimizer: Any, rng: np.random.Generator) -> Any:
    index, count = (
        arm(optimizer, rng),
        int(rng.choice([1, 1, 1, 3, 40, 600], p=[0.3, 0.3, 0.2, 0.1, 0.08, 0.02])),
    )
    values = [payoff(rng) for _ in range(count)]
    before = len(optimizer)
    if rng.random() < 0.5:
        optimizer.tell(optimizer.space.point(index), values)
    else:
        optimizer.tell_index(index, values if count > 1 else values[0])
    if told(optimizer)[before:] != [(index, value) for value in values]:
        raise Broken("a payoff told is not there")
    return plain(optimizer.pending)


def bad_tell_arm(optimizer: Any, rng: np.random.Generator) -> Any:
    index = arm(optimizer, rng)
    if rng.random() < 0.5:
        bad = choices(rng, BAD_PAYOFFS)
        return refuses(optimizer, lambda: optimizer.tell(optimizer.space.point(index), bad))
    bad = choices(rng, BAD_PLACES)
    if (isinstance(bad, list) and not bad) or bad == 0.5:
        return ""  # no arms at all, or one of the arms
    text = refuses(optimizer, lambda: optimizer.tell(bad, 1.0))
    return text.partition(" at 0x")[0]


def withdraw_arm(optimizer: Any, rng: np.random.Generator) -> Any:
    pending = optimizer.pending.tolist()
    if not pending:
        point = optimizer.space.point(arm(optimizer, rng))
        return refuses(optimizer, lambda: optimizer.withdraw(point))
    optimizer.withdraw(optimizer.space.point(choices(rng, pending)))
    if len(optimizer.pending) != len(pending) - 1:
        raise Broken("an ask withdrawn is still pending")
    return plain(optimizer.pending)


POLICY = {
    "ask": (4.0, ask),
    "tell": (6.0, tell_arm),
    "withdraw": (1.0, withdraw_arm),
    "predict": (2.0, predict),
    "recommend": (1.0, recommend),
    "save": (1.0, None),
    "bad-tell": (1.0, bad_tell_arm),
    "bad-predict": (0.5, bad_predict),
}


# ---- bandits -----------------------------------------------------------------------------------


def tell_bandit(bandit: Any, rng: np.random.Generator) -> Any:
    count, arms = int(rng.choice([1, 1, 1, 3, 12, 40])), bandit.arms
    index = rng.integers(len(arms), size=count)
    values, before = [payoff(rng, 1e140) for _ in range(count)], len(bandit)
    if count == 1 and rng.random() < 0.7:
        bandit.tell(arms[int(index[0])], values[0])
    else:
        bandit.tell_index(index, values)
    if told(bandit)[before:] != list(zip(index.tolist(), values, strict=True)):
        raise Broken("a payoff told is not there")
    return plain(bandit.pending)


def bad_tell_bandit(bandit: Any, rng: np.random.Generator) -> Any:
    if rng.random() < 0.5:
        bad = choices(rng, BAD_PAYOFFS)
        return refuses(bandit, lambda: bandit.tell(choices(rng, bandit.arms), bad))
    bad = choices(rng, (None, -1, 99, 10**30, "nobody", [[]], [[0.123, 4.0]], np.nan, object()))
    text = refuses(bandit, lambda: bandit.tell(bad, 1.0))
    return text.partition(" at 0x")[0]


def retire(bandit: Any, rng: np.random.Generator) -> Any:
    """Retire an arm, unless it is the last but two, or let one be played again."""
    place = int(rng.integers(len(bandit.arms)))
    if bandit.active.sum() > 2 and rng.random() < 0.6:
        bandit.retire(bandit.arms[place])
    else:
        bandit.restore(bandit.arms[place])
    return plain(bandit.active)


def recommend_arm(bandit: Any, rng: np.random.Generator) -> Any:
    if not (bandit.active & (bandit.counts > 0)).any():
        return refuses(bandit, bandit.recommend)
    return recommend(bandit, rng)


BANDIT = {
    "ask": (4.0, ask),
    "tell": (6.0, tell_bandit),
    "retire": (1.0, retire),
    "predict": (1.0, predict),
    "recommend": (1.0, recommend_arm),
    "save": (1.5, None),
    "bad-tell": (1.0, bad_tell_bandit),
}
