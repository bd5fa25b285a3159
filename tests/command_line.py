"""Commands of `tailproof` run in this process, and files for them."""

from tailproof import cli


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def runner(command, capsys):
    """Return a function that runs a command with arguments: (exit code, stdout, stderr)."""

    def call(*arguments):
        code = cli.main([command, *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return call
