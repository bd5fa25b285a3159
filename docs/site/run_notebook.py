"""Run a notebook in jupytext's percent format and print its cells with what they put out, as JSON.

python run_notebook.py NOTEBOOK FOLDER

Figures are written to FOLDER. A cell's output is what it prints, the value of its last line as a
notebook shows it, and the figures that it leaves open.
"""

import ast
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"

MARKER = re.compile(r"^# %%(.*)\n", re.MULTILINE)


def read_cells(source):
    """Return (is it text, content) of every cell; text without its comment signs."""
    parts = MARKER.split(source)
    cells = []
    for kind, body in zip(parts[1::2], parts[2::2], strict=True):
        text = "[markdown]" in kind
        if text:
            body = re.sub(r"^# ?", "", body, flags=re.MULTILINE)
        cells.append((text, body.strip("\n")))
    return cells


def run_cell(code, names, name):
    """Run one cell; return what it printed, its last value's HTML or '', and its last figure."""
    tree = ast.parse(code)
    value = None
    out = io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)
    if value is None:
        return out.getvalue(), "", None
    if hasattr(value, "savefig"):
        return out.getvalue(), "", value
    if hasattr(value, "_repr_html_"):
        return out.getvalue(), value._repr_html_(), None
    return out.getvalue() + repr(value), "", None


def save_figures(stem, folder, number, shown):
    """Write the figure that a cell shows and all open ones; return their file names."""
    figures = [shown] if shown is not None else []
    if "matplotlib.pyplot" in sys.modules:
        import matplotlib.pyplot as plt

        figures += [plt.figure(opened) for opened in plt.get_fignums()]
        plt.close("all")
    names = []
    for place, figure in enumerate(dict.fromkeys(figures)):
        names.append(f"{stem}-{number}-{place}.png")
        figure.savefig(folder / names[-1], dpi=110, bbox_inches="tight")
    return names


def main(notebook, folder):
    """Run the notebook in a folder of its own and print its cells."""
    notebook, folder = Path(notebook).resolve(), Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    cells, names = [], {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        for number, (text, body) in enumerate(read_cells(notebook.read_text(encoding="utf-8"))):
            cell = {"text": text, "body": body}
            if not text:
                place = f"{notebook.name}, cell {number}"
                cell["printed"], cell["html"], shown = run_cell(body, names, place)
                cell["figures"] = save_figures(notebook.stem, folder, number, shown)
            cells.append(cell)
    print(json.dumps(cells))


if __name__ == "__main__":
    main(*sys.argv[1:])
