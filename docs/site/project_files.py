"""MkDocs hook: files outside docs/ that pages link to become part of the site.

The pages link to each other as files of the repository, so that they can be read there too. On the
site docs/ is the root: `../benchmarks/README.md` is `benchmarks/README.md`, and in a file of the
root `docs/tune.md` is `tune.md`.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md")
MEDIA = ("benchmarks/results/rivals.csv",)
LINK = re.compile(r"(\]\()([^)#:\s]+)(?=[)#])")
NAMED = re.compile(r"\[[\w./-]+\.md\]\(([^)#:\s]+\.md)(?=[)#])")


def repository_path(uri: str) -> str:
    """Return where a file of the site is in the repository."""
    return uri if uri in PAGES else f"docs/{uri}"


def site_path(path: str) -> str:
    """Return where a file of the repository is on the site."""
    return path.removeprefix("docs/")


def moved(target: str, page: str) -> str:
    """Return the link of a page of the site that leads to `target`, a link in the repository."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(repository_path(page)), target))
    if found == "README.md":
        return posixpath.relpath("index.md", posixpath.dirname(page) or ".")
    return posixpath.relpath(site_path(found), posixpath.dirname(page) or ".")


def on_files(files: Files, config: dict) -> Files:
    """Add the project's own pages."""
    for name in (*PAGES, *MEDIA):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page, files: Files, **_: object) -> str:
    """Rewrite links that leave docs/ or lead into it; call pages by their titles."""
    uri = page.file.src_uri

    def rewrite(found: re.Match[str]) -> str:
        return found[1] + moved(found[2], uri)

    def title(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(uri), found[1]))
        linked = files.get_file_from_path(target)
        known = linked is not None and linked.page is not None and linked.page.title
        return f"[{known}]({found[1]}" if known else found[0]

    outside = uri in PAGES
    moved_links = LINK.sub(lambda m: rewrite(m) if outside or "../" in m[2] else m[0], markdown)
    return NAMED.sub(title, moved_links)
