"""The page of a search is one safe file that holds the record it was given."""

import base64
import dataclasses
import html
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from aiayn_keras.plotting import decoding_steps
from tests.helpers import S, assert_close
from tests.plotting.random_record import H, N, random_record

ATTACK = "</script><!--<script><img src=x onerror=alert(1)>"
FATES = ["lives", "finishes", "is dropped"]


@pytest.fixture(scope="module")
def record():
    return random_record([f"▁source{i}" for i in range(S)])


def embedded(page):
    (text,) = re.findall(r'<script type="application/json" id="record">(.*?)</script>', page, re.S)
    return json.loads(text)


def test_the_page_holds_every_candidate_of_every_step(record):
    data = embedded(decoding_steps(record).page)
    assert data["source"] == [*record.source_tokens]
    assert [each["beams"] for each in data["searches"]] == [1, 2, 4]
    for packed, search in zip(data["searches"], record.searches, strict=True):
        for step, expected in zip(packed["steps"], search.steps, strict=True):
            found = [
                (beam, data["pieces"][piece], log_prob, FATES[fate])
                for beam, piece, log_prob, fate in step["candidates"]
            ]
            assert found == [
                (each.beam, each.token, round(each.log_prob, 5), each.fate)
                for each in expected.candidates
            ]


def test_the_page_holds_the_scores_of_every_live_hypothesis(record):
    data = embedded(decoding_steps(record).page)
    packed = data["scores"]
    whole = np.frombuffer(base64.b64decode(packed["values"]), "<u2").reshape(packed["shape"])
    scores = packed["low"] + whole * packed["span"] / 65535
    assert packed["shape"][1:] == [N, H, S]
    for kept, search in zip(data["searches"], record.searches, strict=True):
        for step, expected in zip(kept["steps"], search.steps, strict=True):
            close = packed["span"] / 65535
            assert_close(scores[step["scores"]], expected.scores, rtol=0, atol=close)


def test_hypotheses_of_several_searches_share_their_scores(record):
    data = embedded(decoding_steps(record).page)
    hypotheses = {
        words for search in record.searches for step in search.steps for words in step.hypotheses
    }
    assert data["scores"]["shape"][0] == len(hypotheses)


def test_the_page_holds_what_finished_and_when_each_search_was_over(record):
    data = embedded(decoding_steps(record).page)
    for packed, search in zip(data["searches"], record.searches, strict=True):
        assert packed["finished"] == [
            [each.step, each.text, len(each.tokens) + 1, round(each.log_prob, 5)]
            for each in search.finished
        ]
        assert packed["recorded"] == [
            {"alpha": alpha, "steps": search.num_steps[alpha], "best": search.best[alpha]}
            for alpha in (0.0, 0.6, 2.0)
        ]


def test_no_token_ends_the_script_or_begins_a_comment():
    page = decoding_steps(random_record([ATTACK, "b"], words=(ATTACK, "c"))).page
    assert page.count("</script>") == decoding_steps(random_record(["a", "b"])).page.count(
        "</script>"
    )
    assert "<!--" not in page
    assert "<img" not in page
    assert embedded(page)["source"] == [ATTACK.replace(" ", "␣"), "b"]


def test_a_title_takes_the_place_of_the_source(record):
    assert embedded(decoding_steps(record).page)["title"] == record.source
    assert embedded(decoding_steps(record, title="Mine").page)["title"] == "Mine"


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(record, tmp_path):
    steps = decoding_steps(record)
    (source,) = re.findall(r'srcdoc="([^"]*)"', steps._repr_html_())
    assert html.unescape(source) == steps.page
    assert 'sandbox="allow-scripts"' in steps._repr_html_()
    assert 'title="Beam search, step by step"' in steps._repr_html_()
    assert re.fullmatch(r"DecodingSteps\(\d+ kB\): .*", repr(steps))
    steps.save(tmp_path / "steps.html")
    assert (tmp_path / "steps.html").read_text("utf-8") == steps.page


def test_something_else_is_refused_with_the_way_to_a_record():
    with pytest.raises(TypeError, match=r"model\.record_search\(source\).*searches"):
        decoding_steps(SimpleNamespace(source="a"))


def test_a_record_of_nothing_is_refused(record):
    with pytest.raises(ValueError, match="at least one search"):
        decoding_steps(dataclasses.replace(record, searches=()))


def test_scores_that_are_not_finite_are_refused(record):
    search = record.searches[0]
    step = dataclasses.replace(search.steps[0], scores=search.steps[0].scores * np.nan)
    search = dataclasses.replace(search, steps=(step, *search.steps[1:]))
    with pytest.raises(ValueError, match="must be finite"):
        decoding_steps(dataclasses.replace(record, searches=(search,)))
