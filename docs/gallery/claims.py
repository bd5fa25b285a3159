# %% [markdown]
# # Insurance claims by age
#
# Which age group of drivers has the lowest mean claim? The amounts are heavy-tailed, and groups differ in size. With
# a file of your own (`claims.csv` with the columns `ageph` and `average`) in the folder named by `TAILPROOF_DATA` the
# notebook uses it; otherwise it draws claims that behave alike.

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tailproof as tp
from tailproof.means import robust_mean
from tailproof.tails import diagnose

GROUPS = {"18-25": 0.08, "26-35": 0.22, "36-45": 0.25, "46-55": 0.21, "56-65": 0.15, "66-90": 0.09}


def drawn_claims(count=6_000):
    """Return group and amount of made-up claims: log-normal, one in fifteen with a Pareto amount."""
    rng = np.random.default_rng(2)
    group = rng.choice(list(GROUPS), size=count, p=list(GROUPS.values()))
    level = {"18-25": 1.5, "26-35": 1.15, "36-45": 1.0, "46-55": 0.9, "56-65": 0.95, "66-90": 1.1}
    amount = 700.0 * rng.lognormal(-0.5, 1.0, count)
    amount += np.where(rng.random(count) < 1 / 15, 4_000.0 * rng.pareto(1.9, count), 0.0)
    return group, amount * np.array([level[name] for name in group])


def claims():
    """Return group and amount from the file, if there is one."""
    path = Path(os.environ.get("TAILPROOF_DATA", ".")) / "claims.csv"
    if not path.is_file():
        return drawn_claims()
    table = np.genfromtxt(path, delimiter=",", names=True, usecols=("ageph", "average"))
    table = table[table["average"] > 0]
    edges = [int(name[:2]) for name in GROUPS][1:]
    names = np.array(list(GROUPS))
    return names[np.searchsorted(edges, table["ageph"], side="right")], table["average"]


group, amount = claims()
print(f"{len(amount):,} claims, mean {amount.mean():,.0f}, largest {amount.max():,.0f}")

# %% [markdown]
# ## The tails

# %%
by_group = {name: amount[group == name] for name in GROUPS}
diagnosis = diagnose(by_group)
print(diagnosis.verdict)
figure, panel = plt.subplots(figsize=(6, 3.2))
for name, values in by_group.items():
    panel.loglog(np.sort(values), np.arange(len(values), 0, -1) / len(values), label=name)
panel.set(xlabel="amount", ylabel="share of claims beyond it")
panel.legend(fontsize=8)
figure.tight_layout()

# %% [markdown]
# ## Means with intervals

# %%
figure, panel = plt.subplots(figsize=(6, 3.2))
for place, values in enumerate(by_group.values()):
    estimate = robust_mean(values)
    interval = estimate.interval(0.9)
    panel.plot([place, place], [interval.lower, interval.upper], color="tab:blue")
    panel.plot(
        place,
        estimate.mean,
        "o",
        color="tab:blue",
        label="robust mean, 90 %" if place == 0 else None,
    )
    panel.plot(
        place, values.mean(), "x", color="tab:red", label="sample mean" if place == 0 else None
    )
panel.set_xticks(range(len(by_group)), by_group)
panel.set_ylabel("mean claim")
panel.legend()
figure.tight_layout()

# %%
tp.compare(by_group, lower_is_better=True, baseline="36-45")
