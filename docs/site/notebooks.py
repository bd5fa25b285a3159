"""MkDocs hook: runs the notebooks of docs/gallery and adds a page with outputs for each.

Each runs in a process of its own. A notebook that fails, or warns, fails the build.
"""

import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

HERE = Path(__file__).resolve().parent
GALLERY = HERE.parent / "gallery"
LIMIT = 600.0  # seconds; each takes a few


def run(notebook: Path, folder: Path) -> list[dict]:
    """Return the cells of a notebook with their outputs."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(HERE / "run_notebook.py"), notebook, folder],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode:
        raise PluginError(f"{notebook.name} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def fenced(kind: str, body: str) -> str:
    """Return a block of code or output."""
    return f"```{kind}\n{body.rstrip()}\n```"


def page(notebook: Path, cells: list[dict]) -> str:
    """Return the Markdown of a page with cells and outputs."""
    parts = []
    for cell in cells:
        if cell["text"]:
            parts.append(cell["body"])
            continue
        parts.append(fenced("python", cell["body"]))
        out = []
        if cell["printed"].strip():
            out.append(fenced("text", html.unescape(cell["printed"])))
        if cell["html"]:
            out.append(cell["html"])
        out += [f"![Output of the cell above](images/{name})" for name in cell["figures"]]
        if out:
            body = "\n\n".join(out)
            parts.append(f'<div class="notebook-output" markdown>\n\n{body}\n\n</div>')
    parts.append(
        f"[This notebook]({notebook.name}) as Python with cells (Jupyter, VS Code, jupytext)."
    )
    return "\n\n".join(parts) + "\n"


def on_startup(**_: object) -> None:
    """Keep the folder of the figures through rebuilds of `mkdocs serve`."""
    global _FOLDER
    _FOLDER = Path(tempfile.mkdtemp(prefix="tailproof-gallery-"))


def on_shutdown(**_: object) -> None:
    """Remove the figures."""
    shutil.rmtree(_FOLDER, ignore_errors=True)


def on_files(files: Files, config: dict) -> Files:
    """Run the notebooks and add pages and figures."""
    notebooks = sorted(GALLERY.glob("*.py"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ran = list(pool.map(lambda notebook: run(notebook, _FOLDER), notebooks))
    for notebook, cells in zip(notebooks, ran, strict=True):
        uri = f"gallery/{notebook.stem}.md"
        files.append(File.generated(config, uri, content=page(notebook, cells)))
    for figure in sorted(_FOLDER.glob("*.png")):
        uri = f"gallery/images/{figure.name}"
        files.append(File.generated(config, uri, abs_src_path=str(figure)))
    return files
