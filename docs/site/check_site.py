"""Check a built site: every link leads to a file and an anchor of it, and nothing is fetched.

python check_site.py FOLDER
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
NOT_FETCHED = {"canonical", "next", "prev", "alternate"}  # relations of <link>


class Page(HTMLParser):
    """The anchors of a page, its links, and what a browser fetches for it."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.fetched = {""}, set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note what an element refers to and what it is called."""
        attributes = dict(attrs)
        self.anchors |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        if tag == "a" and attributes.get("href"):
            self.links.add(attributes["href"])
        if attributes.get(FETCHED.get(tag)) and attributes.get("rel") not in NOT_FETCHED:
            self.fetched.add(attributes[FETCHED[tag]])


def check(folder):
    """Return what is wrong, one line each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    wrong = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links start at the address the site is served from
            continue
        name = path.relative_to(folder)
        for link in sorted(page.links | page.fetched):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or parts.netloc:
                if link in page.fetched:
                    wrong.append(f"{name}: fetches {link}")
                continue
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                wrong.append(f"{name}: {link} does not exist")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{name}: {link} has no such anchor")
    return wrong, len(pages)


if __name__ == "__main__":
    found, count = check(Path(sys.argv[1]).resolve())
    print("\n".join(found) or f"{count} pages: all links lead somewhere, nothing is fetched")
    sys.exit(bool(found))
