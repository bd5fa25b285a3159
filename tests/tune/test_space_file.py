import pytest

from tailproof.search.space.parameters import Choice, Fixed, Float, Int
from tailproof.tune.space_file import build, take_flags


def from_file(tmp_path, content):
    path = tmp_path / "space.toml"
    path.write_text(content, encoding="utf-8")
    return build(path, [])


def test_a_file_and_flags_give_the_same_space(tmp_path):
    file = from_file(
        tmp_path,
        """
        lr = { float = [1e-5, 1e-1], log = true }
        drop = { float = [0, 0.5], step = 0.1 }
        threads = { int = [2, 64], step = 2 }
        cache = { choice = ["none", "a b", "-x"] }
        host = { fixed = "localhost" }
        """,
    )
    flags, rest = take_flags(
        [
            *("--float", "lr", "1e-5", "1e-1", "--log", "--seed", "3"),
            *("--float", "drop", "0", "0.5", "--step", "0.1"),
            *("--int", "threads", "2", "64", "--step", "2"),
            *("--choice", "cache", "none", "a b", "-x", "--fixed", "host", "localhost", "--quiet"),
        ],
        ["--seed", "--quiet"],
    )
    assert build(None, flags) == file
    assert rest == ["--seed", "3", "--quiet"]


def test_types_of_a_file_are_kept(tmp_path):
    space = from_file(
        tmp_path, 'a = { choice = ["x", 2, 0.5, true] }\nb = { fixed = 3 }\nc = { int = [1, 2] }'
    )
    assert space.parameters["a"] == Choice("x", 2, 0.5, True)
    assert space.parameters["b"] == Fixed(3)
    assert space.parameters["c"] == Int(1, 2)


def test_negative_numbers_and_dashes_are_values():
    flags, _ = take_flags(["--float", "x", "-1e-3", "1", "--choice", "o", "-O2", "-O3", "--x"], [])
    assert build(None, flags).parameters["x"] == Float(-1e-3, 1.0)
    assert build(None, flags).parameters["o"] == Choice("-O2", "-O3", "--x")


def test_options_that_look_alike_keep_apart():
    flags, _ = take_flags(["--choice", "n", "1", "1.0", "true", "", " "], [])
    assert build(None, flags).parameters["n"].options == ("1", "1.0", "true", "", " ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x = ", "not TOML"),
        ("x = 3", "must give x a table"),
        ("x = { real = [0, 1] }", "exactly one of float, int, choice, fixed"),
        ("x = { float = [0, 1], int = [0, 1] }", "exactly one of"),
        ("x = { float = [0] }", "must be \\[low, high\\]"),
        ("x = { float = [1, 0] }", "parameter 'x'"),
        ("x = { float = [0, 1], log = true }", "parameter 'x'"),
        ("x = { float = [0, 1], log = 1 }", "true or false"),
        ("x = { float = ['a', 1] }", "parameter 'x'"),
        ("x = { float = [0, nan] }", "parameter 'x'"),
        ("x = { float = [-1e308, 1e308] }", "parameter 'x': `1e-290 <= max"),
        ("x = { int = [0.5, 1] }", "parameter 'x'"),
        ("x = { choice = ['a'] }", "two or more"),
        ("x = { choice = ['a', 'a'] }", "are the same"),
        ("x = { choice = [1, 1.0] }", "are the same"),
        ("x = { choice = [1, '1'] }", "are the same"),
        ("x = { choice = [['a'], 'b'] }", "text, a number or a boolean"),
        ('x = { choice = ["a\\u0000", "b"] }', "NUL"),
        ("x = { choice = ['a', 'b'], log = true }", "unknown entry 'log'"),
        ("x = { fixed = 1 }", "nothing to tune"),
        ('"{x}" = { int = [0, 1] }', "without braces"),
        ('"" = { int = [0, 1] }', "name must be printable"),
        ("", "no parameters"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path, content, said):
    with pytest.raises(ValueError, match=said) as caught:
        from_file(tmp_path, content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--float", "x", "0"], "NAME LOW HIGH"),
        (["--float", "x", "zero", "1"], "'zero' is not a number"),
        (["--int", "x", "0.5", "1"], "'0.5' is not an integer"),
        (["--choice", "x", "a"], "two or more options"),
        (["--fixed", "x"], "NAME VALUE"),
        (["--log"], "must follow"),
        (["--choice", "x", "a", "\udcff"], "must be UTF-8, but got '.udcff'"),
        (["--fixed", "x", "\udcff"], "must be UTF-8"),
        (["--float", "x", "-1e308", "1e308"], r"<= 1e\+300` must hold"),
        (["--float", "x", "0", "1", "--step"], "needs a value"),
    ],
)
def test_wrong_flags_are_refused(flags, said):
    with pytest.raises(ValueError, match=said):
        build(None, take_flags(flags, [])[0])


def test_a_parameter_cannot_be_defined_twice(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text("x = { int = [0, 1] }")
    with pytest.raises(ValueError, match="defined twice"):
        build(path, [("x", {"int": [0, 2]})])
