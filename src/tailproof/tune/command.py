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
class CommandTemplate:
    """A command whose arguments may hold slots, as `parse_command` checked them.

    Examples
    --------
    >>> template = parse_command(["bench", "--cache={cache}", "{{}}"], ["cache"])
    >>> template.fill({"cache": "a b; rm -r $HOME"})
    ['bench', '--cache=a b; rm -r $HOME', '{}']
    """

    arguments: tuple[str, ...]

    @property
    def program(self) -> str:
        """The first argument of the command; it holds no slot."""
        return _fill_slots(self.arguments[0], {})

    def fill(self, values: Mapping[str, Any]) -> list[str]:
        """Return the argument list of the command for these values."""
        return [_fill_slots(argument, values) for argument in self.arguments]


def _fill_slots(argument: str, values: Mapping[str, Any]) -> str:
    """Return an argument of the command with its {slots} filled."""
    return _TOKEN.sub(lambda t: t[0][0] if t[1] is None else text(values[t[1]]), argument)


def text(value: Any) -> str:
    """Return a value as a command's argument: true and false, integers, shortest exact decimals."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def check_text(argument: str) -> None:
    """Refuse text that no command can have as an argument, or no storage or report can hold."""
    if "\0" in argument:
        raise ValueError(f"an argument cannot hold the character NUL, but got {argument!r}.")
    try:
        argument.encode()
    except UnicodeEncodeError:  # bytes of the command line that Python could not read
        raise ValueError(f"an argument must be UTF-8, but got {argument!r}.") from None


def parse_command(arguments: Sequence[str], names: Iterable[str]) -> CommandTemplate:
    """Return the template of a command, program and arguments; a ValueError says what is wrong.

    Each of the parameters' names must have a slot, and there may be no others.
    """
    if not arguments or not arguments[0]:
        raise ValueError("no program to tune: give its command after `--`.")
    names = tuple(names)
    slots = [_slots_of_argument(argument, names) for argument in arguments]
    if slots[0]:
        raise ValueError(f"the program's name must hold no slot, but got {arguments[0]!r}.")
    unused = [name for name in names if not any(name in used for used in slots)]
    if unused:
        shown = ", ".join("{" + name + "}" for name in unused)
        raise ValueError(f"every parameter must be used in the command, but it lacks {shown}.")
    return CommandTemplate(tuple(arguments))


def _slots_of_argument(argument: str, names: tuple[str, ...]) -> set[str]:
    """Return the names in the slots of an argument of the command."""
    check_text(argument)
    slots = set()
    for token in _TOKEN.finditer(argument):
        if token[0] in ("{", "}"):
            raise ValueError(
                f"a brace stands alone in the argument {argument!r}; write {{{{ or }}}} for a "
                "plain brace."
            )
        if token[1] is None:  # a doubled brace
            continue
        if token[1] not in names:
            raise ValueError(
                f"unknown slot {token[0]} in the argument {argument!r}; the parameters "
                f"are: {', '.join(names)}. Write {{{{ and }}}} for plain braces."
            )
        slots.add(token[1])
    return slots
