"""`saved_models/translate.py`, which runs without this package."""

import functools
import subprocess
import sys
from pathlib import Path

import keras
import pytest

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.documents.formats.document_files import translate_document
from tests.claims.hostile_text import EMOJI, RIGHT_TO_LEFT, SYMBOLS
from tests.cli.command import SOURCES, fresh_environment, run_in_fresh_process
from tests.export.served import Served

SAVED_MODELS = Path(__file__).parents[1] / "saved_models"
PROGRAM = SAVED_MODELS / "translate.py"
DEMO = SAVED_MODELS / "demo_en_de" / "1"


def assert_one_line(result, exit_code, *parts):
    assert result.returncode == exit_code
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    for part in parts:
        assert part in line


def test_lines_are_translated_and_nothing_is_on_stderr():
    hostile = [RIGHT_TO_LEFT, *EMOJI, *SYMBOLS, "", "a\0b", "\x1b[31mred", "</s> <pad>", "x" * 9999]
    lines = [SOURCES[0], *hostile, SOURCES[0]]
    result = run_in_fresh_process(
        PROGRAM, DEMO, input="\ufeff" + "".join(f"{line}\n" for line in lines)
    )
    answers = result.stdout.split("\n")
    assert len(answers) == len(lines) + 1
    assert answers[0] == answers[-2] == "  -0.272  Das Mädchen ist glücklich."
    assert result.stderr == ""


@pytest.mark.parametrize("path", ["nowhere", DEMO.parent, PROGRAM])
def test_what_is_no_saved_model_is_named_in_one_line(path):
    result = run_in_fresh_process(PROGRAM, path, input="")
    assert_one_line(result, 1, f"{path} is not a SavedModel", "saved_model.pb")


@pytest.mark.slow
def test_a_damaged_saved_model_is_named_in_one_line(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"damaged")
    result = run_in_fresh_process(PROGRAM, tmp_path, input="")
    assert_one_line(result, 1, f"{tmp_path} cannot be loaded: ")


@pytest.mark.slow
def test_a_saved_model_that_may_do_more_is_refused_unless_it_is_trusted(tmp_path):
    import tensorflow as tf

    module = tf.Module()
    spec = tf.TensorSpec([None], tf.string, name="text")

    @functools.partial(tf.function, input_signature=[spec], autograph=False)
    def serve(text):
        found = tf.io.read_file(text[0])
        return {"translation": tf.fill(tf.shape(text), found), "score": tf.zeros(tf.shape(text))}

    module.serve = serve
    tf.saved_model.save(module, str(tmp_path / "kit"), signatures={"serving_default": serve})
    (tmp_path / "secret").write_bytes(b"two\nwords\xff")
    secret = f"{tmp_path / 'secret'}\n"
    result = run_in_fresh_process(PROGRAM, tmp_path / "kit", input=secret)
    assert_one_line(result, 1, "cannot be loaded: its graph has the operation ReadFile", "--trust")
    result = run_in_fresh_process(PROGRAM, tmp_path / "kit", "--trust", input=100 * secret)
    assert result.stdout == 100 * "   0.000  two words\ufffd\n"


@pytest.mark.parametrize(
    ("arguments", "part"), [([DEMO, "--beams"], "--beams"), ([], "required: path")]
)
def test_wrong_arguments_are_named_in_one_line(arguments, part):
    assert_one_line(run_in_fresh_process(PROGRAM, *arguments), 2, part, "--help")


def test_a_line_that_is_not_utf8_is_named():
    lines = "I am hungry.\nWe met in a caf\udce9.\n"
    result = run_in_fresh_process(PROGRAM, DEMO, input=lines, errors="surrogateescape")
    assert_one_line(result, 1, "standard input, line 2 is not UTF-8 (byte 15)", "iconv")


@pytest.mark.parametrize(
    ("shell", "code", "output", "error"),
    [
        ("> /dev/full", 1, "", "standard output cannot be written: No space left on device\n"),
        (">&-", 1, "", "standard output is closed, so the translations would be lost.\n"),
        pytest.param(
            *("| head -1", 0, "  -0.272  Das Mädchen ist glücklich.\n", ""), marks=pytest.mark.slow
        ),
    ],
)
def test_output_that_is_not_taken_is_told_in_one_line_at_most(shell, code, output, error):
    result = subprocess.run(
        ["bash", "-c", f'"$0" "$1" "$2" {shell}', sys.executable, PROGRAM, DEMO],
        input=f"{SOURCES[0]}\n" * 400,
        env={**fresh_environment(), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert (result.returncode, result.stdout, result.stderr) == (code, output, error)


PASTED = {
    "“I am hungry,” he said. “Where is the kitchen?”": '"I am hungry," he said. "Where is the '
    'kitchen?"',
    "Come in – it's cold.": "Come in, it's cold.",
    "«It’s cold», she said…": '"It\'s cold", she said...',
    "The old man bo\u00adught a red\u00a0car last\u200b week.": "The old man bought a red car last "
    "week.",
    "I like\u0085tea.": "I like tea.",
    "I\u3164like\x0btea\u2009–\u2009I l\u0332i\u0336k\u0332e it.\ufffc": "I like tea, I like it.",
    "\ufeffI\x00 \u202alike\u202c tea.": "I like tea.",
}


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="One backend is enough.")
def test_the_spanish_model_reads_what_is_pasted_as_what_is_typed():
    model = TransformerSeq2SeqLM.from_preset(str(SAVED_MODELS / "tatoeba_en_es_keras"))
    typed = [each.text for each in model.translate([*PASTED.values()])]
    assert [each.text for each in model.translate([*PASTED])] == typed
    served = Served(SAVED_MODELS / "tatoeba_en_es" / "1")
    answer = served("serving_default", text=[*PASTED])
    assert answer["translation"].tolist() == typed
    words = ["I", "You.", "He", "because", "dollars"]
    found = [each.text for each in model.translate(words)]
    assert all(found)
    assert served("serving_default", text=words)["translation"].tolist() == found


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="One backend is enough.")
def test_the_spanish_model_keeps_numbers_emoji_and_lines_without_letters():
    kept = {
        "I like tea. 😀": "Me gusta el té. 😀",
        "It costs 442 dollars.": "Cuesta 442 dólares.",
        "15": "15",
        "***": "***",
        "…": "…",
        "7\0": "7",
        "": "",
        " ": "",
    }
    model = TransformerSeq2SeqLM.from_preset(str(SAVED_MODELS / "tatoeba_en_es_keras"))
    found = model.translate([*kept], num_return_sequences=2)
    assert [each.text for each in found] == [*kept.values()]
    assert [each.text for each in found[2].hypotheses] == ["15", "15"]
    assert (found[2].score, found[2].tokens) == (0.0, ())
    pasted = "❤️ I like tea. ☠️\nI like <b>tea</b> 5️⃣."
    document = translate_document(model, pasted.encode(), "text").decode()
    assert document.splitlines()[0] == "❤️ Me gusta el té. ☠️"
    assert document.splitlines()[1].count("<b>") == 1
    assert model.translate(["15"], prefixes=["Q"])[0].text.startswith("Q")
    served = Served(SAVED_MODELS / "tatoeba_en_es" / "1")
    for signature in ("serving_default", "align"):
        answer = served(signature, text=[*kept])
        assert answer["translation"].tolist() == [*kept.values()]
        assert answer["score"][2:].tolist() == [0.0] * 6
    assert served("translate_nbest", text=["15"])["translations"].tolist() == [["15"] * 4]
    model.preprocessor.tokenizer.copy_without_letters = False
    assert model.translate(["***"])[0].score < 0


def test_the_card_counts_the_typed_texts_whose_translations_can_stay():
    quality = SAVED_MODELS.parent / "benchmarks" / "quality"
    answers = (quality / "typed_answers.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in answers]
    texts = (quality / "typed_texts.txt").read_text("utf-8").splitlines()
    assert [text for text, _, _ in rows] == texts
    assert {mark for _, _, mark in rows} == {"yes", "no"}
    count = sum(mark == "yes" for _, _, mark in rows)
    card = (SAVED_MODELS / "tatoeba_en_es_keras" / "README.md").read_text("utf-8")
    assert f"[{len(texts)} texts]" in card
    assert f" {count} of the\n[translations]" in card
