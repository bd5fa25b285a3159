# %% [markdown]
# # Revenue per variant
#
# Four variants of a shop page. Few visitors buy, and the amounts are heavy-tailed. Which variant brings the most revenue
# *per visitor*, and how much is lost while finding out?

# %%
import matplotlib.pyplot as plt
import numpy as np

import tailproof as tp

BUYERS = {"control": 0.050, "blue": 0.080, "red": 0.055, "green": 0.040}
MEANS = {name: 20 / 0.8 * share for name, share in BUYERS.items()}
rng = np.random.default_rng(7)


def revenue(variant):
    """Return what one visitor pays: mostly nothing, else a Pareto amount of infinite variance."""
    return 20.0 * rng.pareto(1.8) if rng.random() < BUYERS[variant] else 0.0


# %% [markdown]
# ## A test with fixed shares
#
# 2,000 visitors each. The plain means and the robust comparison:

# %%
payoffs = {name: np.array([revenue(name) for _ in range(2_000)]) for name in BUYERS}
for name, values in payoffs.items():
    print(f"{name:>8}: mean {values.mean():.2f}, largest payment {values.max():,.0f}")
tp.compare(payoffs, baseline="control")

# %% [markdown]
# An order may be reversed by a single payment. The comparison says which differences the payoffs support, and
# how many more are needed for the others.

# %% [markdown]
# ## A bandit instead
#
# `tp.Bandit` shows each visitor one variant and learns from the payment. No constant is chosen.

# %%
bandit = tp.Bandit(list(BUYERS), seed=0)
shown = []
for _ in range(8_000):
    variant = bandit.ask()
    bandit.tell(variant, revenue(variant))
    shown.append(variant)
print(bandit.recommend())
print(bandit.predict())

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2))
rounds = np.arange(1, len(shown) + 1)
for name in BUYERS:
    left.plot(rounds, np.cumsum([variant == name for variant in shown]) / rounds, label=name)
left.set(xlabel="visitors", ylabel="share shown so far", ylim=(0, 1))
left.legend()
best = max(MEANS.values())
right.plot(rounds, np.cumsum([best - MEANS[variant] for variant in shown]), label="Bandit")
right.plot(rounds, rounds * (best - np.mean(list(MEANS.values()))), label="equal shares")
right.set(xlabel="visitors", ylabel="mean revenue lost")
right.legend()
figure.tight_layout()

# %% [markdown]
# [Choose online among arms](../bandit.md) has intervals, drift, and the benchmark with the cells that `Bandit` loses.
