import pytest

from tailproof.tune.urls import masked, sqlite_file, without_secrets

pytest.importorskip("sqlalchemy", reason="the extra `tune` brings it")


def test_passwords_are_never_shown():
    assert masked("postgresql://u:p@h/d") == "postgresql://u:***@h/d"
    assert "secret" not in masked("postgresql://u@h/d?password=secret&x=1")
    assert "secret" not in masked("not a url with secret")
    assert masked("sqlite:////tmp/study.db") == "sqlite:////tmp/study.db"


@pytest.mark.parametrize("spelt", ["hush@42", "hush%4042"])
def test_no_message_shows_a_password(spelt):
    url = "postgresql://me:hush%4042@host/db?sslpassword=quiet"
    said = without_secrets(f"{url}: {spelt} and quiet are wrong", url)
    assert "hush" not in said
    assert "quiet" not in said
    assert "are wrong" in said


def test_files_of_sqlite_are_found():
    assert sqlite_file("sqlite:////tmp/a%20b.db").parent.name == "tmp"
    assert sqlite_file("postgresql://h/d") is None
    assert sqlite_file("nonsense") is None
