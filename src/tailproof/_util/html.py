"""HTML reports: one base template, one file with everything inside, to be opened from disk.

Templates of a subpackage lie in its own `templates` folder and extend `base.html`. Values are
escaped by jinja2 unless they are `Markup`.
"""

from __future__ import annotations

import base64
import functools
from typing import Any

from tailproof._util.optional import require

PACKAGES = ("_util", "tune", "experiments", "comparison")


@functools.cache
def _jinja_environment() -> Any:
    """Return the jinja2 environment with the templates of all packages."""
    jinja2 = require("jinja2", "report")
    loaders = {name: jinja2.PackageLoader(f"tailproof.{name}") for name in PACKAGES}
    return jinja2.Environment(
        loader=jinja2.PrefixLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: Any) -> str:
    """Return an HTML page; `template` names subpackage and file, such as "tune/report.html"."""
    text: str = _jinja_environment().get_template(template).render(**values)
    return text


def svg_uri(svg: bytes) -> str:
    """Return an SVG image as a data URI, for `src` of an `img`."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
