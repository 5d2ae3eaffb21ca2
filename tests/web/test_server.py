import pytest

from ravine.web.explore import HOST
from ravine.web.server import make_app

PORT = 8123


@pytest.fixture(scope="module")
def client():
    return make_app(host=HOST, port=PORT, warm=False).server.test_client()


def ask(client, name, **options):
    return client.get("/", headers={"Host": name}, **options)


@pytest.mark.parametrize("name", ["127.0.0.1:8123", "localhost:8123", "[::1]:8123"])
def test_this_machine_is_answered(client, name):
    assert ask(client, name).status_code == 200


@pytest.mark.parametrize(
    "name", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost.evil:8123"]
)
def test_foreign_names_are_refused(client, name):
    assert ask(client, name).status_code == 403


def test_scripts_come_from_here_alone(client):
    policy = ask(client, "localhost:8123").headers["Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert rules["connect-src"] == "'self'"
    assert ask(client, "localhost:8123").headers["X-Content-Type-Options"] == "nosniff"


def test_large_bodies_are_refused(client, monkeypatch):
    monkeypatch.setattr("ravine.web.server.UPLOAD_BYTES", 10)
    answer = client.post(
        "/_dash-update-component",
        headers={"Host": "localhost:8123", "Content-Type": "application/json"},
        data=b" " * 11,
    )
    assert answer.status_code == 413
