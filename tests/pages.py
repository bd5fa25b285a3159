"""Pages of the docs: their blocks run in order and print what the page shows."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tailproof import cli

DOCS = Path(__file__).resolve().parents[1] / "docs"
FENCED = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Block:
    """One block of code, its place, what the page shows below it, and what it printed."""

    kind: str
    code: str
    line: int
    title: str = ""  # the file that a block is, if it is one
    shown: str | None = None
    printed: str = ""


def read_page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def read_blocks(page):
    blocks = []
    for found in FENCED.finditer(page):
        kind, body = found.groups()
        line = page.count("\n", 0, found.start()) + 2
        if kind in ("console", "bash"):  # to be read: what was typed and seen elsewhere
            continue
        if kind == "text":
            assert blocks[-1].shown is None, f"line {line}: two outputs of one block"
            blocks[-1].shown = body
        else:
            assert kind in ("python", "sh"), f"line {line}: a block of {kind!r}"
            title = re.match(r'^```\w+ title="([^"]+)"\n', found[0])
            blocks.append(Block(kind, body, line, title[1] if title else ""))
    return blocks


# -- comparing


def tokens(text):
    """Unsigned numbers, words and single marks; how lines are wrapped does not matter."""
    return re.findall(r"\d+(?:\.\d+)?|[^\W\d]+|\S", text)


def agree(shown, printed):
    """Equal marks; numbers that agree in the digits shown."""
    if not (shown[0].isdigit() and printed[0].isdigit()):
        return shown == printed
    half_a_digit = 0.5 * 10.0 ** -len(shown.partition(".")[2])
    return abs(float(shown) - float(printed)) <= half_a_digit * (1.0 + 1e-9)


def find(part, whole, start):
    """Return where `part` ends in `whole` at the first place from `start` on, None if nowhere."""
    for i in range(start, len(whole) - len(part) + 1):
        if all(map(agree, part, whole[i : i + len(part)])):
            return i + len(part)
    return None


def matches(shown, printed):
    """Tell whether `printed` is `shown`, in which a line of three dots stands for any lines."""
    parts = [tokens(part) for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
    whole, end = tokens(printed), 0
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if last and part and i > 0:
            end = max(end, len(whole) - len(part))
        stop = find(part, whole, end)
        if stop is None or (i == 0 and stop != len(part)):
            return False
        end = stop
    return not parts[-1] or end == len(whole)


def same_form(shown, printed):
    """Tell whether both have the same words and marks, and numbers in the same places.

    For results whose digits depend on the processor: rounding decides where a search ends.
    """
    number = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    forms = [re.sub(number, "0", text).split() for text in (shown, printed)]
    return forms[0] == forms[1]


# -- running


def run_command(line, folder):
    """Return what a command of a page prints; `tailproof` runs in this process, without a start."""
    words = shlex.split(line)
    assert words[0] in ("tailproof", "python"), line
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"MPLBACKEND": "Agg", "PATH": path}
    if words[0] == "tailproof":
        out, err = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ, environment),
            contextlib.chdir(folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = cli.main(words[1:])
        assert code == 0, f"{line}\n{err.getvalue()}"
        return out.getvalue()
    done = subprocess.run(
        [sys.executable, *words[1:]],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def run_page(name, folder, without=None, fewer=()):
    """Run every block in `folder`; return the blocks and the names the Python ones left behind.

    A block with a title is written to the file of that name instead. Blocks from the first one on
    that imports the module `without` are left out. `fewer` are pairs of a number of runs on the
    page, and what is run instead, for results that the page shows and nothing compares.
    """
    page = read_page(name)
    for written, run in fewer:
        assert page.count(written) == 1, f"{name}: {written}"
        page = page.replace(written, run)
    blocks = read_blocks(page)
    if without is not None:
        last = next(i for i, block in enumerate(blocks) if f"from {without} import" in block.code)
        blocks = blocks[:last]
    # Not the page's own name: the functions of ray.md are not those of a module called ray.
    names = {"__name__": "page_" + Path(name).stem.replace("-", "_")}
    for block in blocks:
        out = io.StringIO()
        if block.title:
            (Path(folder) / block.title).write_text(block.code, encoding="utf-8")
        elif block.kind == "sh":
            for line in block.code.replace("\\\n", " ").splitlines():
                out.write(run_command(line, folder))
        else:
            # Empty lines in front, so that a traceback names the line of the page.
            code = "\n" * (block.line - 1) + block.code
            with contextlib.chdir(folder), contextlib.redirect_stdout(out):
                exec(compile(code, name, "exec"), names)
        block.printed = out.getvalue()
    return blocks, names


def check_output(blocks, name):
    """Assert that every block printed what the page shows, and nothing where it shows nothing."""
    for block in blocks:
        where = f"block at line {block.line} of {name} printed:\n{block.printed}"
        if block.shown is not None:
            assert matches(block.shown, block.printed), where
        else:
            assert block.kind == "python", (
                f"{name} does not show what {block.code.strip()!r} prints"
            )
            assert block.printed == "", where


def check_links(name):
    """Assert that the links of a page lead to files."""
    page = (DOCS / name).resolve()
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    for target in targets:
        if not (page.parent / target).exists():
            # Pages that the site makes: a notebook is a page there.
            made = (page.parent / target).with_suffix(".py")
            assert made.parent.name == "gallery", f"{name}: {target}"
            assert made.exists(), f"{name}: {target}"
