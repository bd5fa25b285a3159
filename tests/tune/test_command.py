import json
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailproof.tune.command import parse_command, text
from tailproof.tune.process import run

# What a POSIX argument can hold: everything but NUL, and what UTF-8 can encode.
argument = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NAMES = ("a", "two words", "é")


def escaped(plain):
    return plain.replace("{", "{{").replace("}", "}}")


@given(
    st.lists(st.lists(st.one_of(argument, st.sampled_from(NAMES).map(lambda n: (n,)))), max_size=5),
    st.fixed_dictionaries(dict.fromkeys(NAMES, argument)),
)
def test_text_and_values_come_out_as_they_went_in(pieces, values):
    # A tuple stands for a slot, a string for text around it.
    pieces = [*pieces, *([(name,)] for name in NAMES)]
    written = [
        "".join("{" + p[0] + "}" if isinstance(p, tuple) else escaped(p) for p in one)
        for one in pieces
    ]
    expected = ["".join(values[p[0]] if isinstance(p, tuple) else p for p in one) for one in pieces]
    assert parse_command(["program", *written], NAMES).fill(values) == ["program", *expected]


@given(st.text("{}ab", max_size=12))
def test_every_argument_is_either_understood_or_refused(written):
    # Understood is what has no brace left after the pairs and the slots, left to right.
    left = re.sub(r"\{\{|\}\}|\{a\}", "", written)
    if "{" in left or "}" in left:
        with pytest.raises(ValueError, match=r"brace|slot"):
            parse_command(["program", written, "{a}"], ["a"])
    else:
        filled = parse_command(["program", written, "{a}"], ["a"]).fill({"a": "!"})[1]
        expected = re.sub(r"\{\{|\}\}|\{a\}", lambda m: "!" if "a" in m[0] else m[0][0], written)
        assert filled == expected


@settings(max_examples=10, deadline=None)
@given(st.lists(argument, min_size=1, max_size=6))
def test_a_program_receives_every_value_unchanged(values):
    names = [f"p{i}" for i in range(len(values))]
    show = "import sys, json; print(json.dumps(sys.argv[1:]))"
    template = parse_command(
        [sys.executable, "-I", "-S", "-c", show, *("{" + n + "}" for n in names)], names
    )
    result = run(template.fill(dict(zip(names, values, strict=True))))
    assert json.loads(result.stdout) == values


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no program"),
        ([""], "no program"),
        (["p", "{b}", "{a}"], "unknown slot {b}"),
        (["p", "{}", "{a}"], "unknown slot {}"),
        (["p", "{a"], "brace stands alone"),
        (["p", "a}", "{a}"], "brace stands alone"),
        (["p", "x"], "lacks {a}"),
        (["p", "{{a}}"], "lacks {a}"),
        (["p-{a}"], "program's name"),
        (["p", "{a}\0"], "NUL"),
    ],
)
def test_a_wrong_command_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said.replace("{", r"\{").replace("}", r"\}")):
        parse_command(arguments, ["a"])


def test_values_are_written_as_programs_read_them():
    assert [text(v) for v in (True, False, 3, 0.1, 1e-7, 1e22, "x y", "")] == [
        *("true", "false", "3", "0.1", "1e-07", "1e+22", "x y", "")
    ]
