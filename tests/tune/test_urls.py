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


SECRET_NAMES = [
    *("api_key", "apikey", "API-Key", "api%5Fkey", "key", "token", "access_token", "password"),
    *("passwd", "pwd", "client_secret", "secret", "signature", "X-Amz-Signature", "sig", "auth"),
    *("X-Amz-Credential", "aws_secret_access_key", "sslpassword"),
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_secrets_in_a_query_are_masked_in_storages_and_in_any_other_url(name):
    storage = f"postgresql://host/db?page=1&{name}=hush%2F42&{name}=again"
    assert "hush" not in masked(storage)
    assert "again" not in masked(storage)
    assert "page=1" in masked(storage)
    assert without_secrets("hush/42 and again are wrong", storage) == "*** and *** are wrong"
    other = without_secrets(f"--url 'https://host/v1?page=1&{name}=hush%2F42' --n 3")
    assert other == f"--url 'https://host/v1?page=1&{name}=***' --n 3"


def test_what_is_no_secret_of_a_url_is_shown():
    for message in ("https://h/?keyboard=us&page=token", "x?token=3", "a;key=$1", "api_key=4"):
        assert without_secrets(message) == message
