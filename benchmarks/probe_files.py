"""Mutated state files: each is refused or continues as it should. For probe.py.

A file is damaged (bytes flipped, cut off), or edited and given the right checksum: fields of its
header, numbers of its arrays, sizes that it claims. An edited file may hold the data of another
sound run. It then has to behave as a new optimizer that is told that data.
"""

from __future__ import annotations

import copy
import io
import json
import time
import zipfile
from collections.abc import Callable
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
    behavior,
    choices,
    payoff,
    predictions,
    rebuilt,
    run,
)
from tailproof.bandits.posterior.nystrom import NystromPosterior
from tailproof.storage import HEADER, read_members, write_members

SLOW = 20.0  # seconds that loading a file may take
LARGE = (10**9, 2**31, 2**63, 10**30, 1e300, 1e-300)


def probe(count: int, folder: Path, seed: int = 0) -> list[Tally]:
    """Mutate files in every way in turn, and return what came of it."""
    rng = np.random.default_rng([seed, 1])
    originals = {}
    for i, (name, build) in enumerate((SEARCHES | POLICIES | BANDITS).items()):
        optimizer: Any = build(i)
        run(optimizer, 14, rng)
        if name == "Bandit, labels":
            optimizer.tell_index(np.arange(9) % 3, [payoff(rng, 1e140) for _ in range(9)])
            optimizer.add_arms(["dog", "eel"])
            optimizer.retire("ant")
            run(optimizer, 5, rng)
        optimizer.ask(), optimizer.ask()
        path = folder / f"{i}.npz"
        optimizer.save(path)
        originals[name] = (path, behavior(tp.load(path)))
    tallies = {name: Tally(f"state files, {name}") for name in MUTATIONS}
    for i in range(count):
        kind = list(MUTATIONS)[i % len(MUTATIONS)]
        name = choices(rng, originals)
        path, expected = originals[name]
        mutated = folder / "mutated.npz"
        what = f"{name}: {MUTATIONS[kind](path, mutated, rng)}"
        verdict(mutated, what, expected, tallies[kind])
    return list(tallies.values())


def verdict(path: Path, what: str, expected: list[Any], tally: Tally) -> None:
    """Load a mutated file, and count what came of it."""
    begun = time.perf_counter()
    try:
        optimizer = tp.load(path)
    except ValueError as error:
        named = str(path) in str(error)
        tally.add("refused", "" if named else f"{what}: the error does not name the file: {error}")
        return
    except Exception as error:
        tally.add(broke=f"{what}: {type(error).__name__} {error}")
        return
    if time.perf_counter() - begun > SLOW:
        tally.add(broke=f"{what}: took {time.perf_counter() - begun:.0f} s to load")
        return
    try:
        reason = contradiction(optimizer)
        found = behavior(optimizer)
    except Exception as error:
        tally.add(broke=f"{what}: loads, and then {type(error).__name__} {error}")
        return
    if found == expected:
        tally.add("loaded unchanged")
    elif "edited" not in tally.name:
        tally.add(broke=f"{what}: damage changes what it does")
    else:
        tally.add("another sound run", reason and f"{what}: {reason}")


def contradiction(optimizer: Optimizer) -> str:
    """Say in what an optimizer does not behave as a new one that is told the same payoffs."""
    if not len(optimizer):
        return ""
    found = predictions(optimizer)
    if not np.isfinite(found).all():
        return "predictions that are not finite"
    if isinstance(getattr(optimizer, "posterior", None), NystromPosterior):
        return ""  # what was drawn is data, too
    expected = predictions(rebuilt(optimizer))
    scale = np.abs(expected).max()
    return "" if np.allclose(found, expected, rtol=0.0, atol=1e-9 * scale) else "contradicts itself"


# ---- mutations: write a changed file, and return what was done ----------------------------------


def flip(path: Path, to: Path, rng: np.random.Generator) -> str:
    content = bytearray(path.read_bytes())
    at = rng.integers(len(content), size=int(rng.integers(1, 9)))
    for place in at:
        content[place] ^= int(rng.integers(1, 256))
    to.write_bytes(content)
    return f"bytes {at.tolist()} flipped"


def cut(path: Path, to: Path, rng: np.random.Generator) -> str:
    content = path.read_bytes()
    size = int(rng.integers(len(content)))
    to.write_bytes(content[:size])
    return f"cut off after {size} bytes"


def edit_header(path: Path, to: Path, rng: np.random.Generator) -> str:
    members = read_members(path)
    header = json.loads(members[HEADER])
    spots = list(_spots(header))
    parent, key = choices(rng, spots)
    old = copy.deepcopy(parent[key])
    if rng.random() < 0.15:
        del parent[key]
        new = "nothing"
    else:
        other = choices(rng, spots)
        new = parent[key] = copy.deepcopy(_changed(old, other[0][other[1]], rng))
    text = json.dumps(header).encode()
    write_members(to, members | {HEADER: text})
    return f"{key!r} in the header, {str(old)[:40]} -> {str(new)[:40]}"


def _spots(node: Any) -> Any:
    """Yield the container and the key of every value of a JSON document."""
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from _spots(node[key])


def _changed(old: Any, other: Any, rng: np.random.Generator) -> Any:
    options = [other, None, True, "", "x", [], {}, -1, 0, 0.5, [old], float("inf"), float("nan")]
    if isinstance(old, list) and old:
        options += [old[:-1], old + old[-1:], old[::-1]] * 3
    if isinstance(old, int | float):
        options += [old + 1, old - 1, -old, 2 * old, float(old), str(old), choices(rng, LARGE)] * 2
    return choices(rng, options)


def edit_array(path: Path, to: Path, rng: np.random.Generator) -> str:
    members = read_members(path)
    name = choices(rng, [member for member in members if member != HEADER])
    array = np.load(io.BytesIO(members[name]))
    changes: dict[str, Callable[[], Any]] = {
        "one number changed": lambda: _with(
            array, rng, payoff(rng) if array.dtype.kind == "f" else 1
        ),
        "one number not finite": lambda: _with(
            array.astype(np.float64), rng, choices(rng, (np.nan, np.inf))
        ),
        "one number of another size": lambda: _with(array, rng, choices(rng, (-1, 8, 9, 2**31))),
        "cut": lambda: array[:-1],
        "longer": lambda: np.concatenate([array, array[-1:]]),
        "reversed": lambda: np.ascontiguousarray(array[::-1]),
        "another type": lambda: array.astype(choices(rng, ("f4", "i4", "U8", "c16", ">f8"))),
        "another shape": lambda: array[None],
        "empty": lambda: array[:0],
    }
    what = choices(rng, changes)
    stream = io.BytesIO()
    np.save(stream, changes[what]())
    write_members(to, members | {name: stream.getvalue()})
    return f"{name}: {what}"


def _with(array: Any, rng: np.random.Generator, value: Any) -> Any:
    array = array.copy()
    if array.size:
        array.flat[int(rng.integers(array.size))] = value
    return array


def claim(path: Path, to: Path, rng: np.random.Generator) -> str:
    """Let a file claim to hold far more than it is long."""
    members = read_members(path)
    zeros = io.BytesIO()
    np.save(zeros, np.zeros(1_000_000))
    size = int(10 ** rng.integers(5, 18))
    what = choices(rng, ("compressed", "npy header", "directory", "extra array"))
    if what == "npy header":
        stream = io.BytesIO()
        shape = {"descr": "<f8", "fortran_order": False, "shape": (size,)}
        np.lib.format.write_array_header_1_0(stream, shape)
        name = choices(rng, [member for member in members if member != HEADER])
        write_members(to, members | {name: stream.getvalue() + bytes(64)})
    elif what == "extra array":
        write_members(to, members | {"extra.npy": zeros.getvalue()})
    elif what == "compressed":
        with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in (members | {"extra.npy": zeros.getvalue()}).items():
                archive.writestr(name, content)
    else:
        content = bytearray(path.read_bytes())
        at = content.index(b"PK\x01\x02")
        content[at + 20 : at + 28] = 2 * min(size, 2**32 - 2).to_bytes(4, "little")
        to.write_bytes(content)
    return f"{what} claims {size} bytes"


MUTATIONS: dict[str, Callable[[Path, Path, np.random.Generator], str]] = {
    "bytes flipped": flip,
    "cut off": cut,
    "header edited, checksum right": edit_header,
    "arrays edited, checksum right": edit_array,
    "sizes edited": claim,
}
