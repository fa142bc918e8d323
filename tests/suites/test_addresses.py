from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dialeval.suites.addresses import (
    VARIABLE,
    bare_address_problem,
    header_problem,
    url_problem,
)


@pytest.mark.parametrize(
    "url", ["http://x", "https://x.example:8443/a/b", " http://[::1]:80/ ", "http://127.0.0.1/v1"]
)
def test_addresses(url: str):
    assert url_problem(url, "use") == ""


@pytest.mark.parametrize(
    "url", ["", "x", "ftp://x/", "http:/x", "http://", "http://:80", "http://x:99999", "http://a b"]
)
def test_what_is_no_address(url: str):
    assert url_problem(url, "use").startswith("use must be a URL such as ")


@pytest.mark.parametrize(
    "behind",
    [
        *("localhost", "localhost:8000/v1", "127.0.0.1:9/v1", "10.0.0.7", "gpu7:8000", "[::1]:80"),
        *("models.example.com/v1", "ftp://x"),
    ],
)
def test_an_address_without_its_scheme_is_no_part_of_a_name(behind: str):
    problem = bare_address_problem(f"openai:m@{behind}")

    assert problem == (
        f"'openai:m@{behind}': what follows @ is an address without http://; "
        f"did you mean 'openai:m@http://{behind}'?"
    )


@pytest.mark.parametrize(
    "name",
    [
        *(
            "openai:m",
            "openai:claude-3-5-sonnet@20240620",
            "openai:@cf/meta/llama",
            "openai:m@v1.2",
        ),
        *("openai:m@http://localhost:1/v1", "openai:m@https://me:hunter2@host/v1", "openai:a/b@c"),
    ],
)
def test_names_with_an_at_sign(name: str):
    assert bare_address_problem(name) == ""


def test_a_query_is_allowed_where_it_is_asked_for():
    assert url_problem("http://x/?a=b", "use", query=True) == ""
    assert url_problem("http://x/?a=b", "use") == "use must hold no query or fragment"
    assert url_problem("http://x/#a", "use", query=True) == "use must hold no fragment"


def test_a_password_is_not_repeated():
    assert "hunter2" not in url_problem("http://me:hunter2@x/", "use")
    assert "hunter2" not in header_problem("Authorization", "Basic hunter2")
    assert "hunter2" not in header_problem("X-Any", "hunter2\n")


@pytest.mark.parametrize("name", ["authorization", "Cookie", "X-Api-Key", "X-Auth-Token", "Secret"])
def test_headers_that_say_that_they_are_secret(name: str):
    assert "a key doesn't belong in a file" in header_problem(name, "abc")
    assert header_problem(name, "Bearer ${MY_KEY}") == ""


@pytest.mark.parametrize("name", ["X-Monkeys", "X-Team", "Accept", "X-Tokens-Used"])
def test_headers_that_are_no_secret(name: str):
    assert header_problem(name, "abc") == ""


@given(st.text(max_size=40) | st.from_regex(r"https?://\S*", fullmatch=True))
def test_any_text_has_an_answer_in_one_line(text: str):
    for problem in (url_problem(text, "use"), header_problem(text, text)):
        assert "\n" not in problem


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=3))
def test_headers_that_are_accepted_can_be_sent(written: dict[str, str]):
    for name, text in written.items():
        if not header_problem(name, text):
            assert re.fullmatch(r"[\x21-\x7e]+", name) and text.isascii() and text.isprintable()
            assert all(each.isidentifier() for each in VARIABLE.findall(text))
