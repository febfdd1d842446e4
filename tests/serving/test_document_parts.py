"""Documents in parts: cut where sentences end anyway, and joined to what one request gives."""

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import given

from aiayn_keras.serving import RestClient
from aiayn_keras.serving.translation_client import (
    MAX_LINE_CHARACTERS,
    MAX_PART_CHARACTERS,
    document_parts,
    request_sizes,
)
from tests.helpers import assert_close, slow_but

BREAKS = ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"]
LINES = st.text(alphabet="ab \t|\n\r\x0b\x0c\x1c\x85\u2028\u2029", max_size=40)


@given(st.lists(st.tuples(LINES, st.integers(1, 900)), max_size=8))
def test_parts_are_the_text_in_whole_lines_and_not_too_large(pieces):
    text = "".join(piece * times for piece, times in pieces)[:40_000]
    parts = document_parts("text", text)
    assert "".join(parts) == text
    for part, following in itertools.pairwise(parts):
        assert part.endswith(tuple(BREAKS))
        assert not (part.endswith("\r") and following.startswith("\n"))
    for part in parts:
        assert len(part) <= MAX_PART_CHARACTERS or len(document_lines(part)) == 1


def document_lines(part):
    for each in BREAKS:
        part = part.replace(each, "\n")
    return part.removesuffix("\n").split("\n")


@pytest.mark.parametrize("end", BREAKS)
def test_a_text_is_cut_behind_every_kind_of_line_break(end):
    line = "a" * 3_000 + end
    assert document_parts("text", 3 * line) == [line] * 3
    assert document_parts("text", "\x1c".join(["a" * 3_000] * 3)) == [
        "\x1c".join(["a" * 3_000] * 3)
    ]


def test_a_short_text_is_one_part():
    assert document_parts("text", "") == [""]
    assert document_parts("text", "One.\n\nTwo.") == ["One.\n\nTwo."]


def test_a_line_that_no_server_answers_in_time_is_named():
    longest = "a" * MAX_LINE_CHARACTERS
    assert document_parts("text", f"One.\n{longest}") == ["One.\n", longest]
    with pytest.raises(ValueError, match=r"`texts\[1\]`, line 2 has 50,001 characters\. .* Break"):
        RestClient("http://127.0.0.1:1", "any").translate_documents(["", f"\n{longest}a"])


def test_requests_hold_as_much_as_fits():
    parts = ["a" * size for size in (2_000, 2_000, 1_000, 1, 9_000, 1, 1, 1)]
    assert list(request_sizes(parts, 64)) == [3, 1, 1, 3]
    assert list(request_sizes(parts, 2)) == [2, 2, 1, 2, 1]
    assert list(request_sizes([], 2)) == []


@pytest.fixture(params=slow_but(["grpc"], ["rest", "grpc"]))
def client(request, server):
    from aiayn_keras.serving import GrpcClient

    if request.param == "grpc":
        return GrpcClient(f"127.0.0.1:{server.grpc_port}", "small", label="canary")
    return RestClient(f"http://127.0.0.1:{server.rest_port}", "small", label="canary")


def test_a_long_document_is_translated_as_by_one_request(client, server, model):
    pytest.importorskip("tensorflow_serving")
    line = "The girl is happy.  Every day Paul works.\tOne | two!\r\n"
    texts = ["", line * 110, "Ja.", f"\n- {line}\u2028" * 3]
    assert len(texts[1]) > MAX_PART_CHARACTERS
    found = client.translate_documents(texts)
    assert server.num_requests == 2
    whole = client.predict("translate_document", text=texts)
    assert server.num_requests == 3
    assert [each.text for each in found] == list(whole["translation"])
    assert [each.num_sentences for each in found] == list(whole["sentences"])
    assert_close([each.score for each in found], whole["score"], rtol=1e-4)
    expected = model.translate_documents(texts[1:2])[0]
    assert found[1].text == expected.text
    assert found[1].num_sentences == len(expected.sources) == 440
