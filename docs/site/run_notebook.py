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
    """Run one cell; return what it printed, and its last value's HTML or ''."""
    tree = ast.parse(code)
    value = None
    out = io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)
    if value is None or type(value).__module__.startswith("matplotlib"):
        return out.getvalue(), ""
    if hasattr(value, "_repr_html_"):
        return out.getvalue(), value._repr_html_()
    return out.getvalue() + repr(value), ""


def save_figures(stem, folder, number):
    """Write all open figures; return their file names."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    import matplotlib.pyplot as plt

    names = []
    for place, figure_number in enumerate(plt.get_fignums()):
        names.append(f"{stem}-{number}-{place}.png")
        plt.figure(figure_number).savefig(folder / names[-1], dpi=110, bbox_inches="tight")
    plt.close("all")
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
                cell["printed"], cell["html"] = run_cell(body, names, place)
                cell["figures"] = save_figures(notebook.stem, folder, number)
            cells.append(cell)
    print(json.dumps(cells))


if __name__ == "__main__":
    main(*sys.argv[1:])
