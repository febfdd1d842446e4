"""The model server speaks the real server's REST API, with a real model."""

import base64

import pytest
import urllib3

pytest.importorskip("tensorflow_serving")


@pytest.fixture
def ask(server):
    url = f"http://127.0.0.1:{server.rest_port}/v1/models/small"
    with urllib3.PoolManager(retries=False) as pool:
        yield lambda method, path, **body: pool.request(method, url + path, **body)


def test_rows_are_answered_in_rows(ask, model):
    body = {"instances": [{"text": "Ja."}, {"text": "Half past three."}]}
    rows = ask("POST", ":predict", json=body).json()["predictions"]
    expected = model.translate(["Ja.", "Half past three."])
    assert [row["translation"] for row in rows] == [each.text for each in expected]


def test_bytes_come_in_base64(ask, model):
    raw = base64.b64encode(b"Half \xff past").decode()
    answer = ask("POST", ":predict", json={"inputs": {"text": [{"b64": raw}]}}).json()
    # A byte that is not UTF-8 is an unknown character, like a snowman.
    assert answer["outputs"]["translation"] == [model.translate(["Half ☃ past"])[0].text]


def test_versions_are_listed(ask):
    states = ask("GET", "").json()["model_version_status"]
    assert [(state["version"], state["state"]) for state in states] == [
        ("2", "AVAILABLE"),
        ("1", "AVAILABLE"),
    ]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (":predict", b"{", 400),
        (":predict", b"{}", 400),
        (":predict", b'{"inputs": {"texts": ["Ja."]}}', 400),
        ("/versions/9:predict", b'{"inputs": {"text": ["Ja."]}}', 404),
        (":classify", b"{}", 400),
    ],
)
def test_bad_requests_have_an_error(ask, path, body, status):
    response = ask("POST", path, body=body)
    assert response.status == status
    assert response.json()["error"]


def test_an_error_of_the_graph_is_given_without_what_tensorflow_adds(ask):
    body = {"signature_name": "generate_ids", "inputs": {"token_ids": [[99_999]]}}
    response = ask("POST", ":predict", json=body)
    error = response.json()["error"]
    assert (response.status, "99999" in error) == (400, True)
    assert "Graph execution error" not in error
    assert "[Op:" not in error


@pytest.mark.parametrize("signature", ["serving_default", "translate_nbest", "align"])
def test_an_empty_list_is_refused_with_a_reason_of_its_own(ask, signature):
    body = {"signature_name": signature, "inputs": {"text": []}}
    response = ask("POST", ":predict", json=body)
    assert response.status == 400
    assert "TensorFlow Serving never answers such a request" in response.json()["error"]
