"""The page to type into, in Chromium, with the small model."""

import base64
import json
import shutil
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

from aiayn_keras.data.demo import generate_demo_pairs
from aiayn_keras.export.hugging_face_files import write_tokenizer_json
from aiayn_keras.models import (
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from book import play
from tests.browser import (
    forced_colors,
    prefer_scheme,
    serving,
    set_width,
    style_of,
)
from tests.play_in_browser import PlayPage, press, shown_next, texts_of

pytest.importorskip("onnx")
pytest.importorskip("tokenizers")

SAVED = Path(__file__).parents[2] / "saved_models"
SENTENCE = "The old man has seventy-one red houses."
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "\u202emoc.elpmaxe\u202c \u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0633\u0644\u0627\u0645",
    "👩‍👩‍👧 🇪🇸 ﬁne ① ½ m² ℃ \u00ad \u200b \ud7ff",
    "a" * 200,
)
TEXTS = (
    "“I am hungry,” he said. “Where’s the kitchen?”",
    "Come in – it's cold… really--no—yes",
    "I like\u0085tea.\u00a0 Two  spaces ",
    "bo\u00adught \u200bzero\ufeff ﬁ Ａ ① ½ ㎏ É",
    "123 4,500.75 12:30 +49-30-123",
    "Καλημέρα мир 你好，世界！ नमस्ते می‌خواهم 😀 👩‍👧",
    "",
    "   ",
    "\x00null",
    "\ufeffa \ufeff b\ufeff",
    "</s> stop <s> <unk> <0x41>",
)


def test_what_is_typed_is_translated_as_translate_does(page, model):
    page.open(model="float32")
    page.find("source").send_keys(SENTENCE)
    (expected,) = model.translate([SENTENCE])
    page.wait_for_translation(expected.text)
    score = f"log-probability {expected.score:.3f}".replace(" -", " −")
    assert score in page.text_of("status")
    ids = list(map(int, texts_of(page, "#source-pieces small")))
    assert ids[:-1] == list(model.preprocessor.tokenizer(SENTENCE))
    assert "model=float32" in page.browser.current_url


def test_hypotheses_and_scores_are_those_of_translate(page, model):
    sentences = list(generate_demo_pairs(12, seed=3, split="test").sources)
    page.open()
    page.ask("load", format="float32")
    for num_beams, alpha in ((4, 0.6), (1, 0.0), (3, 1.5)):
        options = {"num_beams": num_beams, "length_penalty": alpha}
        expected = model.translate(sentences, num_return_sequences=num_beams, **options)
        for sentence, translation in zip(sentences, expected, strict=True):
            found = page.ask(
                "translate", text=sentence, numBeams=num_beams, alpha=alpha, numResults=num_beams
            )["sentences"][0]["results"]
            assert [each["text"] for each in found] == [
                each.text for each in translation.hypotheses
            ]
            scores = [(each["logProb"], each["score"]) for each in found]
            wanted = [(each.score, each.normalized_score) for each in translation.hypotheses]
            np.testing.assert_allclose(scores, wanted, atol=1e-4)


@pytest.fixture
def tokenizer(request, model):
    """Of the demo; of the larger model, with byte fallback and rules for what people paste."""
    if request.param == "unigram":
        pairs = generate_demo_pairs(200, seed=1)
        texts = [*pairs.sources, *pairs.targets]
        return TransformerTokenizer.train(texts, 200, model_type="unigram", byte_fallback=False)
    if request.param == "bpe":
        return model.preprocessor.tokenizer
    larger = str(SAVED / "tatoeba_en_es_keras")
    found = TransformerSeq2SeqLMPreprocessor.from_preset(larger).tokenizer
    return found.of_targets() if request.param == "targets" else found


@pytest.mark.parametrize("tokenizer", ["bpe", "bytes", "targets", "unigram"], indirect=True)
def test_texts_are_split_as_in_python(page, tokenizer, tmp_path):
    write_tokenizer_json(tmp_path / "tokenizer.json", tokenizer.proto)
    texts = [*TEXTS, *HOSTILE, *generate_demo_pairs(20, seed=5).sources]
    space = tokenizer.token_to_id("▁")
    page.open()
    found = page.browser.execute_async_script(
        """
        const [json, texts, space, done] = arguments;
        import("./onnx/tokenizer.js").then(({ Tokenizer }) => {
          const tokenizer = new Tokenizer(JSON.parse(json));
          const pieces = texts.map((text) => tokenizer.pieces(text));
          done(pieces.map((ids) => [ids, tokenizer.decode([space, space, ...ids])]));
        }, (error) => done(String(error)));
        """,
        (tmp_path / "tokenizer.json").read_text("utf-8"),
        texts,
        space,
    )
    expected = [list(map(int, tokenizer(text))) for text in texts]
    assert [ids for ids, _ in found] == expected
    for ids, text in found:
        if tokenizer.unk_token_id not in ids:  # which translations never have
            assert text == tokenizer.detokenize([space, space, *ids])


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        *("Write to me@example.org.", "See https://a.org.", "Hi {name}!", "Open notes.txt."),
        *("My PC is off.", "Wait... what?", "I like tea 😀."),
    ],
)
def test_addresses_and_placeholders_are_said_to_be_garbled(page, text):
    page.open(text=text)
    page.wait(page.find("bare").is_displayed)
    page.find("clear").click()
    page.find("source").send_keys(SENTENCE)
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    assert not page.find("bare").is_displayed()


def test_a_browser_without_webassembly_is_told(page, before_the_page):
    before_the_page("delete globalThis.WebAssembly")
    page.open(text=SENTENCE)
    page.wait(lambda: "this browser lacks WebAssembly" in page.text_of("problem"))
    assert page.text_of("translation") == ""


def test_a_browser_that_is_too_old_is_told_what_the_page_needs(page, before_the_page):
    before_the_page("delete String.prototype.toWellFormed")
    page.browser.get("about:blank")
    page.browser.get(f"{page.address}index.html")
    page.wait(lambda: page.browser.get_log("browser"))
    assert page.find("not-served").is_displayed()
    assert "Firefox from 128" in page.text_of("not-served")


@pytest.mark.slow
def test_what_is_dropped_without_files_is_refused_in_one_line(page):
    page.open(text=SENTENCE)
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    page.browser.execute_script(
        """
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["hi"], "hi.txt"));
        dispatchEvent(new DragEvent("drop", { dataTransfer }));
        """
    )
    page.wait(lambda: "What was dropped has no files" in page.text_of("problem"))
    assert page.text_of("translation")


@pytest.mark.parametrize(
    ("count", "message"), [(0, "no files that can be read"), (201, "more than 200 files")]
)
def test_a_folder_of_none_or_too_many_files_is_refused_when_it_is_dropped(
    page, tmp_path, count, message
):
    for number in range(count):
        (tmp_path / f"{number}.txt").write_text("hi")
    page.open()
    data = {"items": [], "files": [str(tmp_path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        event = {"type": kind, "x": 200, "y": 10, "data": data}
        page.browser.execute_cdp_cmd("Input.dispatchDragEvent", event)
    page.wait(lambda: f"What was dropped has {message}" in page.text_of("problem"))


def test_a_switched_off_part_changes_the_translation_and_comes_back(page, model):
    page.open(text=SENTENCE, view="change", model="float32")
    (expected,) = model.translate([SENTENCE])
    page.wait_for_translation(expected.text)
    page.find("positions").click()
    page.wait(lambda: "Parts of the model are changed" in page.text_of("status"))
    assert page.text_of("translation") != expected.text
    page.find("all-on").click()
    page.wait_for_translation(expected.text)


@pytest.mark.slow
def test_the_readers_choice_among_the_translations_is_looked_into(page, model):
    page.open(text=SENTENCE, model="float32")
    first, second, *_ = model.translate(SENTENCE, num_return_sequences=4).hypotheses
    page.wait_for_translation(first.text)
    assert len(texts_of(page, "#hypotheses .text")) == 4
    page.find("others").find_element("tag name", "summary").click()
    page.browser.find_elements("css selector", "#hypotheses label")[1].click()
    assert page.text_of("translation") == second.text
    assert texts_of(page, "#target-pieces bdi") == [*second.tokens, "</s>"]
    page.wait(lambda: is_about(page, "explorer", f"{SENTENCE} → {second.text}"))


def test_views_show_the_sentence_and_are_reached_by_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    page.open(text=SENTENCE)
    page.wait(lambda: page.frames("explorer"))
    page.browser.switch_to.frame(page.frames("explorer")[0])
    assert page.browser.find_elements("css selector", "#keys .word")[0].text == "▁The"
    page.browser.switch_to.default_content()
    page.find("tab-attention").send_keys(Keys.ARROW_RIGHT)
    page.wait(lambda: page.frames("steps"))
    page.browser.switch_to.frame(page.frames("steps")[0])
    page.wait(lambda: "4 beams and α = 0.6" in page.text_of("recorded"))
    page.browser.switch_to.default_content()
    page.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    first = page.wait(lambda: shown_next(page))[0]
    page.browser.execute_script("document.querySelector('#next-pieces button').click()")
    page.wait(lambda: page.text_of("next-written") == first.removeprefix("▁"))
    page.browser.execute_script("document.getElementById('tab-own').click()")
    page.wait(lambda: page.text_of("own-score").startswith("Yours"))
    assert page.find("own").get_property("value") == page.text_of("translation")
    assert "view=own" in page.browser.current_url


def test_the_readers_translation_has_the_score_of_the_search(page, model):
    page.open()
    page.ask("load", format="float32")
    best = page.ask("translate", text=SENTENCE, numBeams=4, alpha=0.6)["sentences"][0]["results"][0]
    found = page.ask("score", text=SENTENCE, translation=best["text"], alpha=0.6)
    assert found["score"] == pytest.approx(best["score"], abs=1e-4)
    assert [each["id"] for each in found["pieces"]][:-1] == best["ids"]


@pytest.mark.slow
def test_the_recorded_search_is_that_of_record_search(page, model):
    page.open()
    page.ask("load", format="float32")
    found = page.ask("record", text=SENTENCE, alpha=0.6)
    record = model.record_search(SENTENCE, [1, 2, 3, 4, 5], [0.0, 0.6, 1.0])
    assert found["source"] == list(record.source_tokens)
    assert [found["longest"], found["keyDim"]] == [record.longest, record.key_dim]
    assert found["cacheWidth"] == record.cache_width
    for actual, search in zip(found["searches"], record.searches, strict=True):
        assert actual["beams"] == search.num_beams
        assert len(actual["steps"]) == len(search.steps)
        for step, expected in zip(actual["steps"], search.steps, strict=True):
            candidates = [
                (beam, found["pieces"][piece]) for beam, piece, _, _ in step["candidates"]
            ]
            assert candidates == [(each.beam, each.token) for each in expected.candidates]
            fates = [("lives", "finishes", "is dropped")[each[3]] for each in step["candidates"]]
            assert fates == [each.fate for each in expected.candidates]
        assert [text for _, text, *_ in actual["finished"]] == [e.text for e in search.finished]
        steps = {each["alpha"]: each["steps"] for each in actual["recorded"]}
        assert steps == search.num_steps
        best = {each["alpha"]: each["best"] for each in actual["recorded"]}
        assert best == search.best


@pytest.mark.parametrize(
    "text", [HOSTILE[0], *(pytest.param(text, marks=pytest.mark.slow) for text in HOSTILE[1:])]
)
def test_hostile_text_is_text(page, text):
    page.open(text=text)
    page.wait(lambda: page.text_of("status").startswith(("Probability", "A text without")))
    page.wait(lambda: page.frames("explorer"))
    assert page.find("source").get_property("value") == text
    assert page.browser.find_elements("css selector", "img") == []


@pytest.mark.slow
def test_a_folder_that_is_none_is_refused_in_one_line_and_the_model_stays(page):
    page.open()
    page.ask("load", format="int8")
    before = page.ask("translate", text=SENTENCE, numBeams=1, alpha=0)["text"]
    good = {"config.json": "{}", "generation_config.json": "{}", "tokenizer.json": "{}"}
    graphs = {"onnx/encoder_model.onnx": "no graph", "onnx/decoder_model_merged.onnx": ""}
    tokenizer = (
        '{"model": {"type": "BPE", "vocab": {"<img src=x onerror=alert(1)>": 0}, "merges": []},'
        ' "pre_tokenizer": {"type": "Metaspace", "split": true, "prepend_scheme": "always"}}'
    )
    for files, message in (
        ({"notes.txt": "hi"}, "The folder has no config.json"),
        ({**good, "config.json": "{"}, "config.json is not JSON"),
        (good, "The folder has no onnx/encoder_model_quantized.onnx"),
        ({**good, **graphs}, "a BPE or Unigram vocabulary is needed"),
        ({**good, **graphs, "tokenizer.json": tokenizer}, "The encoder is not an ONNX graph"),
    ):
        with pytest.raises(RuntimeError, match=message):
            page.open_folder({f"mine/{path}": text for path, text in files.items()})
    assert page.ask("translate", text=SENTENCE, numBeams=1, alpha=0)["text"] == before


@pytest.mark.slow
def test_files_that_do_not_belong_together_are_refused_and_the_model_stays(page, model, tmp_path):
    folder = model.export(tmp_path / "mine", format="onnx", attention=True)
    page.open(text=SENTENCE, view="folder")
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    before = page.text_of("translation")
    for name, changes, message in (
        ("generation_config.json", {"eos_token_id": 10**9}, "but the graphs know 1000 pieces"),
        ("generation_config.json", {"decoder_start_token_id": 10**9}, "do not belong together"),
        ("generation_config.json", {"suppress_tokens": {"a": 1}}, "must be a list"),
        ("tokenizer.json", {"post_processor": {"single": 5}}, "tokenizer.json cannot be read"),
    ):
        path = folder / name
        text = path.read_text("utf-8")
        path.write_text(json.dumps({**json.loads(text), **changes}), encoding="utf-8")
        page.find("folder").send_keys(str(folder))
        page.wait(lambda message=message: message in page.text_of("problem"))
        path.write_text(text, encoding="utf-8")
        assert page.text_of("problem").endswith(". The model before is still in use.")
        assert page.text_of("translation") == before


OPEN_COUNTING = """
const [encoder, decoder, done] = arguments;
const read = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());
const open = async () => {
  const ort = await import("./ort/ort.wasm.min.mjs");
  const { Graphs } = await import("./onnx/graphs.js");
  ort.env.wasm.wasmPaths = new URL("./ort/", location.href).href;
  let count = 0;
  const create = async (...values) => {
    const session = await ort.InferenceSession.create(...values);
    const release = session.release.bind(session);
    count += 1;
    session.release = async () => { count -= 1; await release(); };
    return session;
  };
  const counting = { ...ort, InferenceSession: { create } };
  const files = await Promise.all([encoder, decoder].map(read));
  const refused = await Graphs.open(counting, ...files).then(() => null, (error) => error.message);
  return [refused, count];
};
open().then(done, (error) => done([String(error), null]));
"""


@pytest.mark.parametrize(
    ("encoder", "decoder", "message"),
    [
        ("encoder_model_quantized", None, "The decoder is not an ONNX graph"),
        ("encoder_model_quantized", "encoder_model_quantized", "The graphs lack use_cache_branch"),
        (None, "decoder_model_merged_quantized", "The encoder is not an ONNX graph"),
    ],
)
def test_graphs_that_are_refused_leave_none_open(page, encoder, decoder, message):
    page.open()
    paths = [f"model/int8/onnx/{name}.onnx" if name else "page.js" for name in (encoder, decoder)]
    refused, num_open = page.browser.execute_async_script(OPEN_COUNTING, *paths)
    assert message in refused
    assert num_open == 0


def test_a_folder_of_ones_own_is_chosen_and_translates(page, model, tmp_path):
    folder = model.export(tmp_path / "mine", format="onnx", attention=True)
    (expected,) = model.translate([SENTENCE])
    page.open(text=SENTENCE, view="folder")
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    page.find("folder").send_keys(str(folder))
    page.wait(lambda: "1,000 pieces" in page.text_of("own-model-facts"))
    page.wait_for_translation(expected.text)
    assert not page.find("formats").is_displayed()
    page.find("site-model").click()
    page.wait(page.find("formats").is_displayed)
    page.wait_for_translation(expected.text)


def test_a_folder_that_was_refused_can_be_chosen_again(page, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("config.json", "generation_config.json", "tokenizer.json"):
        (folder / name).write_text("{")
    page.open(view="folder")
    for name in ("config.json", "generation_config.json"):
        page.find("folder").send_keys(str(folder))
        page.wait(lambda name=name: page.text_of("problem").startswith(f"{name} is not JSON"))
        (folder / name).write_text("{}")
    page.find("tab-next").click()
    assert page.text_of("problem")  # it stays until there is an answer


@pytest.mark.slow
def test_a_folder_that_is_chosen_while_weights_change_is_the_model_that_answers(
    page, model, tmp_path
):
    folder = model.export(tmp_path / "mine", format="onnx", attention=True)
    path = folder / "config.json"
    config = {**json.loads(path.read_text("utf-8")), "max_position_embeddings": 6}
    path.write_text(json.dumps(config), encoding="utf-8")
    page.open(text=SENTENCE, view="folder")
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    link = urlencode({"text": SENTENCE, "model": "float32", "view": "folder"})
    page.browser.execute_script(  # asks for other weights while the folder is being opened
        """
        const [folder, link] = arguments;
        folder.addEventListener("change", () => { location.hash = link; });
        """,
        page.find("folder"),
        link,
    )
    page.find("folder").send_keys(str(folder))
    page.wait(lambda: "the model reads 6 at most" in page.text_of("problem"))
    assert "texts of up to 6 pieces" in page.text_of("own-model-facts")


@pytest.mark.slow
def test_pieces_of_a_foreign_vocabulary_are_text_in_every_view(page, model, tmp_path):
    folder = model.export(tmp_path / "mine", format="onnx", attention=True)
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text("utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    hostile = "</script></iframe><img src=x onerror=alert(1)>"
    ids = page_ids(model, "Der alte Mann hat einundsiebzig rote Häuser gebracht.")
    names = {i: piece for piece, i in vocabulary.items()}
    for i in ids:
        vocabulary[f"{names[i]}{hostile}{i}"] = vocabulary.pop(names[i])
    path.write_text(json.dumps(tokenizer), encoding="utf-8")
    page.open(text=SENTENCE, view="folder")
    page.find("folder").send_keys(str(folder))
    page.wait(lambda: hostile in page.text_of("translation"))
    frames = {"attention": "explorer", "search": "steps"}
    for view in ("attention", "search", "next", "own"):
        page.browser.execute_script(f"document.getElementById('tab-{view}').click()")
        if view in frames:
            page.wait(lambda view=view: page.frames(frames[view]))
        else:  # the translation may have too many pieces to be judged
            found = "#next-pieces bdi, #own-score"
            page.wait(lambda found=found: any(texts_of(page, found)))
        assert page.browser.find_elements("css selector", "img") == []
    assert any("onerror=alert(1)" in text for text in texts_of(page, "#target-pieces bdi"))


def page_ids(model, text):
    """Ids of a translation, each once."""
    return sorted(set(map(int, model.preprocessor.tokenizer(text))))


@pytest.mark.slow
def test_with_other_weights_the_next_piece_begins_anew(page):
    page.open(text=SENTENCE, view="next")
    page.wait(lambda: shown_next(page))
    page.browser.execute_script("document.querySelector('#next-pieces button').click()")
    page.wait(lambda: page.text_of("next-written") != "nothing yet")
    page.browser.execute_script("document.querySelector('[value=float32]').click()")
    page.wait(lambda: page.text_of("next-written") == "nothing yet")
    clicks = "const e = document.getElementById('next-draw'); e.click(); e.click(); e.click()"
    page.browser.execute_script(clicks)  # the console stays empty
    page.wait(lambda: page.text_of("next-written") != "nothing yet" and shown_next(page))


def test_a_link_is_followed_although_an_answer_puts_the_old_one_back(page):
    page.open(text="It is one o'clock.", beams=2)
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    follow_late = """
    const old = location.hash;
    location.hash = arguments[0]; // the event comes later
    history.replaceState(null, "", old);
    """
    page.browser.execute_script(follow_late, "#text=The+girl+is+happy.&beams=3")
    page.wait(lambda: page.find("source").get_property("value") == "The girl is happy.")
    assert page.find("beams-value").get_property("value") == "3"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("ort.wasm.min.mjs", "The model's program cannot be started: its files cannot be fetched"),
        ("ort-wasm-simd-threaded.wasm", "ONNX Runtime cannot be started; is the network there"),
    ],
)
def test_a_program_that_could_not_be_started_is_started_when_its_files_are_there(
    browser, folder, model, tmp_path, missing, message
):
    (expected,) = model.translate([SENTENCE])
    shutil.copytree(folder, tmp_path / "play")
    file = (tmp_path / "play/ort" / missing).rename(tmp_path / missing)
    with serving(tmp_path) as address:
        page = PlayPage(browser, f"{address}play/")
        page.open()
        if missing.endswith(".mjs"):  # the page has failed by the time that a second engine does
            with pytest.raises(RuntimeError, match=message):
                page.ask("cancel")
        page.find("source").send_keys("One")
        page.wait(lambda: message in page.text_of("problem"))
        file.rename(tmp_path / "play/ort" / missing)
        page.find("source").clear()
        page.find("source").send_keys(SENTENCE)
        page.wait_for_translation(expected.text)
    assert not [each for each in browser.get_log("browser") if "Uncaught" in each["message"]]


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_a_phone_shows_all_views_without_scrolling_sideways(page, scheme):
    set_width(page.browser, 360)
    prefer_scheme(page.browser, scheme)
    try:
        page.open(text=SENTENCE)
        page.wait(lambda: page.frames("explorer"))
        for view in ("search", "next", "own", "change", "folder", "attention"):
            page.browser.execute_script(f"document.getElementById('tab-{view}').click()")
            page.wait(page.find(f"view-{view}").is_displayed)
            wider = (
                "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
            )
            assert page.browser.execute_script(wider) <= 0, view
    finally:
        prefer_scheme(page.browser, None)


@pytest.mark.slow
def test_the_tour_shows_a_view_that_was_not_there_yet(page):
    page.open()
    page.browser.execute_script(  # before the model is there
        "for (const id of ['start-tour', 'tour-next']) document.getElementById(id).click()"
    )
    page.wait(lambda: page.frames("explorer"))
    gap = "return explorer.getBoundingClientRect().top - tour.getBoundingClientRect().bottom"
    page.wait(lambda: 0 <= page.browser.execute_script(gap) < 50)


def test_the_tour_has_eight_steps(page):
    page.open()
    page.find("start-tour").click()
    titles = []
    while page.find("tour").is_displayed():
        titles.append(page.text_of("tour-title"))
        page.find("tour-next").click()
    assert len(titles) == 8
    assert titles[0].startswith("1 of 8")
    assert page.find("tab-search").get_attribute("aria-selected") == "true"


@pytest.mark.slow
def test_the_tour_is_taken_with_the_keyboard_alone(page):
    page.open()
    tab_to(page, "start-tour")
    press(page, "ENTER")
    page.wait(lambda: page.frames("explorer"))
    for number, subject in enumerate(
        ("ask", "explorer", "explorer", "switches", "explorer", "explorer", "next-content", "steps")
    ):
        assert page.text_of("tour-title").startswith(f"{number + 1} of 8")
        page.wait(lambda subject=subject: is_filled(page, subject))
        tab_to(page, "tour-go", most=3)
        press(page, "ENTER")
        for _ in range(4):
            press(page, "TAB")
            page.wait(lambda: not is_under_the_tour(page))
            script = "return arguments[0].contains(document.activeElement)"
            assert page.browser.execute_script(script, page.find(subject)), (number, subject)
        while focused(page) != "tour-next":
            press(page, "SHIFT", "TAB")
            page.wait(lambda: not is_under_the_tour(page))
        press(page, "ENTER")
    assert not page.find("tour").is_displayed()
    assert focused(page) == "start-tour"


def is_filled(page, name):
    """True if an element is shown, and the page in its frame drawn if it takes one."""
    if name not in ("explorer", "steps"):
        return page.find(name).size["height"] > 0
    frames = page.frames(name)
    if not frames:
        return False
    page.browser.switch_to.frame(frames[0])
    try:
        return page.browser.execute_script("return document.querySelector('main button') !== null")
    finally:
        page.browser.switch_to.default_content()


def tab_to(page, name, most=20):
    """Goes on with Tab until an element has the focus."""
    for _ in range(most):
        press(page, "TAB")
        if focused(page) == name:
            return
    raise AssertionError(f"{name} is more than {most} steps away.")


def focused(page):
    """Id of the element that has the focus."""
    return page.browser.execute_script("return document.activeElement.id")


def is_under_the_tour(page):
    """True if the tour hides a part of what has the focus, in a frame as well."""
    script = """
    const [active, tour] = [document.activeElement, document.getElementById("tour")];
    const isLarge = active.matches("[role=tabpanel]"); // larger than the window
    if (tour.contains(active) || isLarge) return null;
    return [active, active.getBoundingClientRect().top, tour.getBoundingClientRect().bottom];
    """
    found = page.browser.execute_script(script)
    if found is None:
        return False
    active, top, bottom = found
    if active.tag_name == "iframe":
        page.browser.switch_to.frame(active)
        top += page.browser.execute_script(
            "return document.activeElement.getBoundingClientRect().top"
        )
        page.browser.switch_to.default_content()
    return top < bottom


@pytest.mark.slow
def test_the_tour_puts_back_what_a_step_asks_to_try(page):
    page.open(text=SENTENCE)
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    before = page.text_of("translation")
    page.find("start-tour").click()
    while "Word order" not in page.text_of("tour-title"):
        page.find("tour-next").click()
    page.browser.execute_script("document.querySelector('#sentences button').click()")
    page.find("positions").click()
    page.wait(lambda: "Parts of the model are changed" in page.text_of("status"))
    page.find("tour-next").click()
    page.wait_for_translation(before)
    assert page.find("source").get_property("value") == SENTENCE
    assert page.find("positions").is_selected()


@pytest.mark.slow
@pytest.mark.parametrize("height", [700, 256])  # 256: a window of 1280 by 1024 at 400 %
def test_the_buttons_of_the_tour_are_seen_on_a_small_screen(page, height):
    metrics = {"width": 320, "height": height, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    page.open(text=SENTENCE)
    page.find("start-tour").click()
    room = """
    const [tour, buttons] = [arguments[0], arguments[0].querySelector(".buttons")];
    return tour.getBoundingClientRect().bottom - buttons.getBoundingClientRect().bottom;
    """
    while page.find("tour").is_displayed():
        assert page.browser.execute_script(room, page.find("tour")) > 0, page.text_of("tour-title")
        page.find("tour-next").click()


def test_the_words_are_explained_at_the_press_of_a_button(page):
    page.open()
    page.find("show-words").click()
    assert page.find("words").get_property("open")
    assert page.browser.switch_to.active_element.text == "Words on this page"
    assert "The two halves of the model" in page.find("words").text


@pytest.mark.slow
def test_a_page_that_a_frame_lacks_is_named_and_shown_once_it_is_there(browser, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "play")
    file = (tmp_path / "play/explorer.txt").rename(tmp_path / "explorer.txt")
    with serving(tmp_path) as address:
        page = PlayPage(browser, f"{address}play/")
        page.open(text=SENTENCE)
        message = "explorer.txt cannot be fetched: the server answers 404."
        page.wait(lambda: page.text_of("nothing") == message)
        assert not page.frames("explorer")
        assert page.text_of("translation")
        file.rename(tmp_path / "play/explorer.txt")
        move(page, "beams", 3)
        page.wait(lambda: page.frames("explorer"))
    browser.get_log("browser")


def test_without_a_network_a_page_that_a_frame_lacks_is_named(page):
    page.open(text=SENTENCE, view="next")
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    page.browser.execute_script("fetch = async () => { throw new TypeError('Failed to fetch'); };")
    page.find("tab-search").click()
    message = (
        "decoding_steps.txt cannot be fetched; is the network there, and the server of this page?"
    )
    page.wait(lambda: page.text_of("nothing") == message)
    assert not page.frames("steps")


@pytest.mark.slow
def test_the_link_to_the_views_keeps_the_address_of_what_is_seen(page):
    page.open(text=SENTENCE, view="next")
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    press(page, "TAB")
    assert page.browser.switch_to.active_element.text == "Skip to the views"
    press(page, "ENTER")
    assert focused(page) == "tab-next"
    page.browser.refresh()
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    assert page.find("source").get_property("value") == SENTENCE


def test_a_word_without_end_is_broken_on_a_phone(page):
    set_width(page.browser, 360)
    page.open(text="W" * 60, view="change", model="float32")
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    word = (
        "const e = document.getElementById(arguments[0]); e.textContent = 'W'.repeat(300); return e"
    )
    for view, name in (("change", "change-translation"), ("next", "next-written")):
        page.browser.execute_script(f"document.getElementById('tab-{view}').click()")
        page.wait(page.find(name).is_displayed)
        page.browser.execute_script(word, name)
        wider = "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
        assert page.browser.execute_script(wider) <= 0, name


def test_settings_of_a_link_that_cannot_be_are_the_page_s_own(page):
    page.open(beams="999", alpha="\n", view="__proto__", model="../../x")
    values = [page.find(name).get_property("value") for name in ("beams-value", "alpha-value")]
    assert values == ["4", "0.6"]
    assert page.find("tab-attention").get_attribute("aria-selected") == "true"
    page.wait(lambda: page.browser.current_url.endswith("alpha=0.6&model=int8&view=attention"))


def test_shaped_distributions_keep_what_they_are_told(page):
    page.open()
    found = page.browser.execute_async_script(
        """
        const done = arguments[0];
        import("./next_piece.js").then(({ shaped }) => {
          const logits = Float32Array.from([0.25, 0.5, 0.15, 0.06, 0.04], Math.log);
          const mayBeChosen = [1, 1, 1, 1, 0];
          const settings = [
            [1, Infinity, 1], [1, 2, 1], [1, Infinity, 0.6], [0.5, Infinity, 1], [1, 3, 0.5],
            [0.02, Infinity, 1], [0.02, 3, 1],
          ];
          done(settings.map((each) => [...shaped(logits, mayBeChosen, ...each)]));
        });
        """
    )
    squares = np.square([0.25, 0.5, 0.15, 0.06, 0.04])
    expected = [
        [0.25, 0.5, 0.15, 0.06, 0],  # what may not be written keeps its share
        [1 / 3, 2 / 3, 0, 0, 0],
        [1 / 3, 2 / 3, 0, 0, 0],
        [*squares[:4] / squares.sum(), 0],
        [0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0],
    ]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert [np.count_nonzero(each) for each in found[-2:]] == [4, 3]  # nothing is left out


def test_the_next_piece_has_the_probability_that_it_has_in_a_translation(page):
    page.open(text=SENTENCE, view="next", model="float32")
    first = page.wait(lambda: shown_next(page))[0]
    percentage = texts_of(page, "#next-pieces .number")[0]
    page.browser.execute_script("document.getElementById('tab-own').click()")
    cells = page.wait(lambda: texts_of(page, "#own-pieces td"))
    assert cells[:2] == [first, percentage]


@pytest.mark.slow
def test_bars_and_chosen_tab_are_seen_with_forced_colors(page):
    with forced_colors(page.browser):
        page.open(text=SENTENCE, view="next")
        page.wait(lambda: shown_next(page))
        paper = style_of(page.browser, "body", "backgroundColor")
        assert style_of(page.browser, "#next-pieces .bar", "backgroundColor") != paper
        colors = [
            style_of(page.browser, f"#tab-{view}", "borderTopColor") for view in ("next", "own")
        ]
        assert colors[0] != colors[1]


@pytest.mark.slow
def test_a_double_click_writes_one_piece_and_the_end_stays_the_end(page):
    page.open(text=SENTENCE, view="next")
    page.wait(lambda: shown_next(page))
    twice = """
    const button = document.querySelector("#next-pieces button");
    button.click();
    button.click();
    """
    page.browser.execute_script(twice)
    page.wait(lambda: len(shown_next(page)) and page.text_of("next-written") != "nothing yet")
    assert len(page.text_of("next-written").split()) == 1
    while "the end" not in page.text_of("next-written"):
        written = page.text_of("next-written")
        page.browser.execute_script("document.querySelector('#next-pieces button').click()")
        page.wait(lambda written=written: page.text_of("next-written") != written)
        page.wait(lambda: shown_next(page))
    slide = "const e = document.getElementById('temperature'); e.value = 2;"
    page.browser.execute_script(f"{slide} e.dispatchEvent(new Event('input'))")
    assert page.text_of("next-written").endswith("(the end)")
    assert not page.find("next-draw").is_enabled()
    written = page.text_of("next-written").removesuffix(" (the end)")
    page.find("next-back").click()  # takes the end back, and nothing else
    page.wait(lambda: page.text_of("next-written") == written)
    move(page, "alpha", 1.0)
    page.wait(lambda: "alpha=1" in page.browser.current_url)
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    assert page.text_of("next-written") == written


def move(page, name, value):
    """Moves a slider of the page."""
    script = "const [id, value] = arguments; const e = document.getElementById(id); e.value = value"
    page.browser.execute_script(f"{script}; e.dispatchEvent(new Event('input'))", name, value)


@pytest.mark.slow
def test_at_the_limit_only_the_end_is_left(page):
    page.open()
    page.ask("load", format="int8")
    (read,) = page.ask("translate", text=SENTENCE, numBeams=1, alpha=0)["sentences"]
    limit = len(read["pieces"]) - 1 + 50
    page.ask("next", text=SENTENCE, ids=[10] * (limit - 1), count=12)
    found = page.ask("next", text=SENTENCE, ids=[10] * limit, count=12)
    assert [each["id"] for each in found["best"]] == [found["endId"]]
    assert found["limit"] == limit


@pytest.mark.slow
def test_sentence_after_sentence_is_shown_and_leaves_no_trace_in_the_history(page):
    page.open(text=SENTENCE)
    page.wait(lambda: page.frames("explorer"))
    length = page.browser.execute_script("return history.length")
    for view, frame in (("attention", "explorer"), ("search", "steps")):
        page.browser.execute_script(f"document.getElementById('tab-{view}').click()")
        for number in ("two", "three", "four"):
            text = f"The man has {number} houses."
            page.browser.execute_script(
                "arguments[0].value = arguments[1]", page.find("source"), text
            )
            page.browser.execute_script(
                "arguments[0].dispatchEvent(new Event('input'))", page.find("source")
            )
            page.wait(lambda frame=frame, text=text: is_about(page, frame, text))
    assert page.browser.execute_script("return history.length") == length


def is_about(page, name, text):
    """True if a frame is shown whose data name a text."""
    script = "return document.querySelector(`#${arguments[0]} iframe`)?.srcdoc ?? ''"
    return bool(page.frames(name)) and f'"title":"{text}' in page.browser.execute_script(
        script, name
    )


@pytest.mark.slow
def test_the_search_opens_with_the_beams_and_the_penalty_of_the_translation(page):
    page.open(text=SENTENCE, view="search", beams=2, alpha=1.3)
    page.wait(lambda: page.frames("steps"))
    page.browser.switch_to.frame(page.frames("steps")[0])
    page.wait(lambda: "recorded with 2 beams and α = 1.3" in page.text_of("recorded"))
    page.browser.switch_to.default_content()


@pytest.mark.slow
def test_the_search_of_a_long_text_is_not_shown_but_explained(page):
    page.open(text=" and ".join([SENTENCE] * 8), view="search", beams=1)
    page.wait(lambda: "this view takes at most 300" in page.text_of("nothing"))
    assert page.find("nothing").is_displayed()
    assert not page.frames("steps")
    assert page.text_of("translation")


@pytest.mark.slow
def test_what_is_off_stays_off_with_other_weights(page):
    page.open(text=SENTENCE, view="change")
    page.wait(lambda: page.find("switches").is_displayed())
    page.find("positions").click()
    page.wait(lambda: "Parts of the model are changed" in page.text_of("status"))
    changed = page.text_of("translation")
    page.browser.execute_script("document.querySelector('[value=float32]').click()")
    page.wait(lambda: "model=float32" in page.browser.current_url)
    page.wait(lambda: "Parts of the model are changed" in page.text_of("status"))
    assert not page.find("positions").is_selected()
    assert page.text_of("translation")[:10] == changed[:10]


@pytest.mark.slow
def test_heads_and_layers_that_are_off_have_no_weights_in_the_views(page):
    page.open()
    page.ask("load", format="int8")
    switches = {
        "scoreScale": 1,
        "positionScale": 1,
        "causal": True,
        "encoderLayers": [True, False],
        "decoderLayers": [True, True],
        "encoder": [1] * 8,
        "decoder": [1] * 8,
        "cross": [1, 0, 1, 1, 1, 1, 1, 1],
    }
    answer = page.ask("translate", text=SENTENCE, numBeams=1, alpha=0, switches=switches)
    ids = answer["sentences"][0]["results"][0]["ids"]
    kinds = page.ask("explore", text=SENTENCE, target="", ids=ids, switches=switches)["kinds"]
    encoder, _, cross = (np.reshape(weights_of(kind), kind["shape"]) for kind in kinds)
    assert encoder[0].all(axis=-1).any()
    assert not encoder[1].any()
    assert not cross[0, 1].any()
    assert cross[1].any()
    record = page.ask("record", text=SENTENCE, numBeams=1, alpha=0, switches=switches)
    assert record["off"] == [[0, 1]]
    switches = {**switches, "scoreScale": 2, "cross": [1] * 8}
    record = page.ask("record", text=SENTENCE, numBeams=1, alpha=0, switches=switches)
    assert record["divisor"] == pytest.approx(record["keyDim"] ** 0.5 / 2)


@pytest.mark.parametrize("text", ["Das Mädchen ist glücklich.", "Ein Auto 😀 singt"])
def test_the_attention_shown_is_that_of_attention_maps(page, model, text):
    maps = model.attention_maps(SENTENCE, text)
    ids = list(map(int, model.preprocessor.tokenizer(text)))
    page.open()
    page.ask("load", format="float32")
    found = page.ask("explore", text=SENTENCE, target=text, ids=ids)
    assert found["words"]["source"] == list(maps.source_tokens)
    assert found["words"]["target"] == list(maps.target_tokens)
    for kind, expected in zip(
        found["kinds"], (maps.encoder, maps.decoder, maps.cross), strict=True
    ):
        actual = np.reshape(weights_of(kind), kind["shape"]) / 65_535
        np.testing.assert_allclose(actual, expected, atol=1e-4)


def weights_of(kind):
    return np.frombuffer(base64.b64decode(kind["weights"]), "<u2")


@pytest.mark.slow
def test_what_is_cleared_or_refused_leaves_no_old_answer(page):
    page.open(text=SENTENCE)
    page.wait(lambda: page.frames("explorer"))
    for text, problem in (
        ("a " * 900, "the model reads 256 at most"),
        (SENTENCE, ""),
        ("a " * 1001, "2,002 characters; this page takes at most 2,000 at once."),
        ("", ""),
    ):
        script = "const [e, text] = arguments; e.value = text; e.dispatchEvent(new Event('input'))"
        page.browser.execute_script(script, page.find("source"), text)
        if text == SENTENCE:
            page.wait(lambda: page.frames("explorer"))
            continue
        page.wait(lambda: not page.text_of("translation") and not page.frames("explorer"))
        page.wait(lambda problem=problem: problem in page.text_of("problem"))
        assert texts_of(page, "#target-pieces li") == []
    page.wait(lambda: "Type a sentence" in page.text_of("nothing"))


def test_a_newer_text_ends_the_search_for_the_older_one(page):
    page.open()
    older, newer = page.browser.execute_async_script(
        """
        const [long, short, done] = arguments;
        const search = async () => {
          const engine = await (await import("./engine.js")).openEngine();
          await engine.ask("load", { format: "int8" });
          const settings = { numBeams: 5, alpha: 1, replaces: true };
          const ask = (text, tell) => engine.ask("translate", { text, ...settings }, tell);
          let newer;
          const older = await ask(long, ({ growing }) => {
            if (growing !== undefined) newer ??= ask(short);
          });
          return [older, (await newer).text];
        };
        search().then(done, (error) => done([String(error), null]));
        """,
        " and ".join([SENTENCE] * 8),
        "The woman sings.",
    )
    assert older is None
    assert newer


@pytest.mark.slow
def test_a_text_that_is_emptied_while_it_is_translated_stays_empty(page):
    page.open()
    page.browser.execute_script(
        """
        const [source, status] = arguments;
        const type = (text) => { source.value = text; source.dispatchEvent(new Event("input")); };
        window.emptied = 0;
        new MutationObserver(() => {
          if (status.textContent !== "Translating …" || window.emptied) return;
          window.emptied += 1;
          type("");
        }).observe(status, { childList: true });
        type("The man has seven houses.");
        """,
        page.find("source"),
        page.find("status"),
    )
    page.wait(lambda: page.browser.execute_script("return window.emptied"))
    page.wait(lambda: "text=&" in page.browser.current_url)
    page.ask("load", format="int8")  # of a second worker: time for the first one's answer to come
    assert page.text_of("translation") == ""


@pytest.mark.slow
def test_the_readers_translation_is_kept_and_the_models_own_follows_the_sentence(page, model):
    page.open(text=SENTENCE, view="own")
    page.wait(lambda: page.find("own").get_property("value"))
    other = "The woman sings."
    script = "const [e, text] = arguments; e.value = text; e.dispatchEvent(new Event('input'))"
    page.browser.execute_script(script, page.find("source"), other)
    (expected,) = model.translate([other])
    page.wait(lambda: page.find("own").get_property("value") == expected.text)
    page.browser.execute_script(script, page.find("own"), "Meine Frau singt.")
    page.wait(lambda: "▁Frau" in texts_of(page, "#own-pieces td bdi"))
    before = page.text_of("own-score")
    page.browser.execute_script(script, page.find("source"), SENTENCE)
    page.wait(lambda: page.text_of("own-score") != before)
    assert page.find("own").get_property("value") == "Meine Frau singt."
    page.find("own-restore").click()
    page.wait(lambda: page.find("own").get_property("value") == page.text_of("translation"))
    page.browser.execute_script(script, page.find("own"), " ")
    page.wait(lambda: page.text_of("own-score") == "Write a translation.")


def test_the_policy_allows_no_inline_script_but_those_of_the_frames(folder):
    text = (folder / "index.html").read_text("utf-8")
    policy = text.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert "unsafe-inline" not in policy
    assert "default-src 'none'" in policy
    assert "<script>" not in text
    assert " style=" not in text


def test_another_package_is_refused(tmp_path):
    (tmp_path / f"{play.RUNTIME.replace('@', '-')}.tgz").write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"is not onnxruntime-web@.* Delete the file"):
        play.runtime_package(tmp_path)


def test_without_npm_there_is_no_package(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert play.runtime_package(tmp_path) is None


@pytest.mark.parametrize("script", ["exit 1", "exec sleep 60"])
def test_without_a_network_there_is_no_package(tmp_path, monkeypatch, script):
    npm = tmp_path / "npm"  # a double that fails, or never ends
    npm.write_text(f"#!/bin/sh\n{script}\n")
    npm.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(npm))
    monkeypatch.setattr(play, "SECONDS", 1)
    assert play.runtime_package(tmp_path / "packages") is None
