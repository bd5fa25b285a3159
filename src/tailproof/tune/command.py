"""The command template: `{name}` in its arguments becomes a value, `{{` and `}}` are braces.

A slot may be a part of an argument. Values are put in after the list has been taken apart,
so a value with spaces, quotes, newlines or a leading dash stays inside the one argument it
belongs to; no shell ever sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True)
class Slot:
    """The place of a parameter's value inside an argument."""

    name: str


Piece = str | Slot


@dataclass(frozen=True)
class CommandTemplate:
    """A command whose arguments hold slots.

    Attributes
    ----------
    arguments : tuple of tuples of pieces
        The pieces of each argument: text, and places of values.

    Examples
    --------
    >>> template = parse_command(["bench", "--cache={cache}", "{{}}"], ["cache"])
    >>> template.fill({"cache": "a b; rm -r $HOME"})
    ['bench', '--cache=a b; rm -r $HOME', '{}']
    """

    arguments: tuple[tuple[Piece, ...], ...]

    @property
    def program(self) -> str:
        """The first argument; it holds no slot."""
        return "".join(piece for piece in self.arguments[0] if isinstance(piece, str))

    def fill(self, values: Mapping[str, Any]) -> list[str]:
        """Return the argument list for these values."""
        return [
            "".join(
                piece if isinstance(piece, str) else text(values[piece.name]) for piece in pieces
            )
            for pieces in self.arguments
        ]


def text(value: Any) -> str:
    """Return a value as the program sees it: true and false, integers, shortest exact decimals.

    Examples
    --------
    >>> text(True), text(3), text(1e-5), text("-x y")
    ('true', '3', '1e-05', '-x y')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def check_text(argument: str) -> None:
    """Refuse text that cannot be an argument, or that no storage and no report can hold."""
    if "\0" in argument:
        raise ValueError(f"an argument cannot hold the character NUL, but got {argument!r}.")
    try:
        argument.encode()
    except UnicodeEncodeError:  # bytes of the command line that Python could not read
        raise ValueError(f"an argument must be UTF-8, but got {argument!r}.") from None


def parse_command(arguments: Sequence[str], names: Iterable[str]) -> CommandTemplate:
    """Return the template of a command.

    Parameters
    ----------
    arguments : sequence of str
        The program and its arguments.
    names : iterable of str
        The parameters: each must have a slot, and there may be no others.

    Raises
    ------
    ValueError
        If there is no program, a brace stands alone, a slot names no parameter, or a
        parameter has no slot.
    """
    if not arguments or not arguments[0]:
        raise ValueError("no program to tune: give its command after `--`.")
    names = tuple(names)
    parsed = tuple(_pieces(argument, names) for argument in arguments)
    if any(isinstance(piece, Slot) for piece in parsed[0]):
        raise ValueError(f"the program's name must hold no slot, but got {arguments[0]!r}.")
    used = {piece.name for pieces in parsed for piece in pieces if isinstance(piece, Slot)}
    unused = [name for name in names if name not in used]
    if unused:
        shown = ", ".join("{" + name + "}" for name in unused)
        raise ValueError(f"every parameter must be used in the command, but {shown} is missing.")
    return CommandTemplate(parsed)


def _pieces(argument: str, names: tuple[str, ...]) -> tuple[Piece, ...]:
    check_text(argument)
    pieces: list[Piece] = []
    end = 0
    for token in _TOKEN.finditer(argument):
        pieces.append(argument[end : token.start()])
        end = token.end()
        matched = token.group()
        if matched in ("{{", "}}"):
            pieces.append(matched[0])
        elif len(matched) == 1:
            raise ValueError(
                f"a brace stands alone in the argument {argument!r}; write {{{{ or }}}} for a "
                "plain brace."
            )
        else:
            name = token.group(1)
            if name not in names:
                listed = ", ".join(names)
                raise ValueError(
                    f"unknown slot {matched} in the argument {argument!r}; the parameters "
                    f"are: {listed}. Write {{{{ and }}}} for plain braces."
                )
            pieces.append(Slot(name))
    pieces.append(argument[end:])
    return tuple(piece for piece in pieces if piece != "")
