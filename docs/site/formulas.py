"""MkDocs hook: formulas become MathML, which browsers draw without a script or a font."""

import html
import re

from latex2mathml.converter import convert

# What the converter writes as letters: a relation, and names of functions, which stand apart.
LETTERS = (
    (re.compile("<mi>&#x0007E;</mi>"), "<mo>&#x0223C;</mo>"),
    (re.compile("(<mi>(?:ln|log|exp)</mi>)(?!<mo)"), r'\1<mspace width="0.17em"/>'),
)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: object) -> str:
    """Replace the LaTeX of every formula."""

    def draw(found: re.Match[str]) -> str:
        display = "block" if found[1] == "div" else "inline"
        # The converter sets a single letter of \\mathrm in italics.
        source = re.sub(r"\\mathrm\{(\w)\}", r"\\operatorname{\1}", html.unescape(found[2]).strip())
        formula = convert(source, display=display)
        for written, meant in LETTERS:
            formula = written.sub(meant, formula)
        return f'<div class="formula">{formula}</div>' if display == "block" else formula

    return FORMULA.sub(draw, content)
