import gzip
import json

import pytest

from pytest_dialeval.errors import TranscriptError
from pytest_dialeval.traces.importers.documents import read_documents, records

CHAT = [{"role": "user", "content": "Hi"}]


def values(content, form="openai"):
    return [each.value for each in read_documents(content, "f", form=form)]


def refusal(content, form="openai"):
    with pytest.raises(TranscriptError) as caught:
        records(read_documents(content, "f", form=form), "f", "item")
    return str(caught.value)


def test_one_value_a_line_or_one_behind_the_other():
    assert values(b'[{"role":"user"}]') == [[{"role": "user"}]]
    assert values(b'{"role":"user"}\n\n{"role":"tool"}\n') == [{"role": "user"}, {"role": "tool"}]
    assert values(b'{"role":"user"}{"role":"tool"}') == [{"role": "user"}, {"role": "tool"}]
    lines = read_documents(b'\n{"role":"user"}\n{"role":\n"tool"}\n[]', "f", form="openai")
    assert [each.line for each in lines] == [2, 3, 5]


def test_what_the_standard_says_is_no_json_but_python_writes():
    assert values(b'[{"role":"user","cost":NaN,"max":Infinity,"min":-Infinity}]') == [
        [{"role": "user", "cost": None, "max": None, "min": None}]
    ]
    assert values(b'[{"role":"user","content":"\\ud800"}]') == [
        [{"role": "user", "content": "\ud800"}]
    ]
    assert values(b'[{"role":"user","n":123456789012345678901}]')[0][0]["n"] == (
        123456789012345678901
    )


def test_a_byte_order_mark_is_passed_over():
    assert values(b"\xef\xbb\xbf" + json.dumps(CHAT).encode()) == [CHAT]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "f: is empty"),
        (b" \n\0\0", "f: is empty"),
        (gzip.compress(b"[]", mtime=0), "f: is packed with gzip; unpack it first (gunzip)"),
        (b"PK\x03\x04....", "f: is packed with zip"),
        (b"BZh9", "f: is packed with bzip2"),
        (b"\xfd7zXZ\x00", "f: is packed with xz"),
        (b"\x28\xb5\x2f\xfd", "f: is packed with zstd"),
        ("[]".encode("utf-16"), "f: is UTF-16"),
        (b"version https://git-lfs.github.com/spec/v1\n", "f: is a Git LFS pointer"),
        (b'["a",\n"\xe4"]', "f:2: byte 7 is not UTF-8"),
        (b'[{"role":"user"', "f:1: the file is cut off in the middle of its JSON; get the whole"),
        (b'[{"role":"us', "f:1: the file is cut off"),
        (b'{"a":1}\n{"a":2}\n{"a"', "f:3: the file is cut off in the middle of its JSON (2 whole"),
        (b'{"a":1}\n{"a" 2}\n{"a":3}', "f:2: is not JSON at column 6: Expecting ':' delimiter"),
        (b"user: hello", "f:1: is not JSON at column 1"),
        (b"[" * 100_000, "f:1: is not readable JSON: it is nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "f:1: is not readable JSON: Exceeds the limit"),
        (b"[]", "f: is an empty list"),
        (b'[{"a":1}]\n[{"a":2}]', "f:2: a second JSON document begins here"),
        (b'{"a":1}\n[{"a":2}]', "f:2: a second JSON document begins here"),
    ],
)
def test_what_is_no_json_of_ours_is_refused_by_place(content, said):
    assert refusal(content).startswith(said)


LOOKS = {
    "openai": [
        CHAT,
        [CHAT],
        [{"messages": CHAT}],
        {"messages": CHAT},
        {"messages": CHAT, "task_id": "a", "trial": 0, "start_time": "2024-05-20", "seed": 7},
        CHAT[0],
    ],
    "tau-bench": [[{"task_id": 1, "traj": []}], {"messages_display": "user: Hi"}],
    "tau2": [
        {"simulations": []},
        {"simulation_index": []},
        [{"messages": [], "termination_reason": "user_stop"}],
        {"messages": [], "reward_info": None},
        {"messages": [{**CHAT[0], "turn_idx": 0}]},
        {"messages": [*CHAT, {"role": "tool", "id": "c", "requestor": "user"}]},
        {"messages": None, "ticks": []},
        {"ticks": []},
    ],
    "dialeval": [{"event": "start", "schema": 1}],
}


@pytest.mark.parametrize(
    ("form", "looks", "value"),
    [
        (form, looks, value)
        for looks, items in LOOKS.items()
        for value in items
        for form in LOOKS
        if form != looks
    ],
)
def test_a_file_of_another_format_is_told_by_its_look(form, looks, value):
    message = refusal(json.dumps(value).encode(), form)
    assert message == f"f: is not {form!r}; it looks like {looks!r}: read it with that format"
