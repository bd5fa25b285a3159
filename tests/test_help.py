"""The help of all commands has one design: described options, defaults, examples, a page."""

import argparse
import re
import shlex
from pathlib import Path

import pytest

from tailproof import cli

DOCS = Path(__file__).resolve().parents[1] / "docs"


def parsers():
    """Return every parser by the words that lead to it."""
    found = {}

    def visit(words, parser):
        found[" ".join(words)] = parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, sub in action.choices.items():
                    visit((*words, name), sub)

    visit(("tailproof",), cli.parser())
    return found


PARSERS = parsers()
COMMANDS = {name: parser for name, parser in PARSERS.items() if name != "tailproof"}


@pytest.mark.parametrize("name", PARSERS)
def test_every_option_is_described_and_named_by_a_short_word(name):
    for action in PARSERS[name]._actions:
        if isinstance(action, (argparse._SubParsersAction, argparse._HelpAction)):
            continue
        assert action.help, f"{name}: {action.option_strings} has no help"
        assert not action.help.endswith("."), action.help
        takes_text = action.nargs != 0 and action.choices is None
        assert action.metavar or not takes_text, f"{name}: {action.option_strings} has no metavar"


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_may_be_left_out_says_what_holds_then(name):
    for action in COMMANDS[name]._actions:
        if action.required or action.nargs == 0 or not action.option_strings:
            continue
        unset = {"--by", "--value", "--baseline", "--pair", "--block", "--fail-if-worse", "--html"}
        unset |= {"--until"}  # nothing holds then
        if not unset & set(action.option_strings):
            assert "default:" in action.help, f"{name}: {action.option_strings}"


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_accepted_and_the_page_exists(name):
    text = COMMANDS[name].format_help()
    examples = re.search(r"^examples:\n((?:  .*\n)+)", text, re.MULTILINE)[1].splitlines()
    assert examples
    for example in examples:
        words = shlex.split(example.split("    (")[0])
        assert words[0] == "tailproof"
        PARSERS["tailproof"].parse_args(words[1:])
    assert (DOCS / re.search(r"^Documentation: docs/(\S+)$", text, re.MULTILINE)[1]).is_file()


def test_the_same_option_says_the_same_everywhere():
    said = {}
    for parser in COMMANDS.values():
        for action in parser._actions:
            for option in action.option_strings:
                said.setdefault(option, set()).add(action.metavar)
    several = {option for option, names in said.items() if len(names) > 1}
    # A table has columns and alternatives; a program has an output and parameters.
    assert several == {"--value", "--baseline"}


def test_without_a_command_the_help_is_shown(capsys):
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == PARSERS["tailproof"].format_help()
