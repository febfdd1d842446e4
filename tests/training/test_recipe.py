import inspect
import math
import re

import keras
import pytest
import yaml

from aiayn_keras.decoding.constraints import BalancedBrackets
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.models import TRANSFORMER_PRESETS, TransformerBackbone
from aiayn_keras.models.architecture import depths_of
from aiayn_keras.training import Recipe, RecipeError, load_recipe, recipe_names
from aiayn_keras.training.option_sections import EvaluationSection
from aiayn_keras_light.search_numbers import search_defaults_of
from tests.data.text_bytes import write

SMALL = ("model.num_layers=1", "model.hidden_dim=8", "model.intermediate_dim=8")


def test_the_shipped_recipes():
    assert recipe_names() == [
        "craft_parsing_small",
        "demo",
        "multi30k_en_de_tiny",
        "multi30k_en_fr_tiny",
        "tatoeba_en_es",
        "wmt14_en_de_base",
        "wmt14_en_de_big",
        "wsj_parsing",
    ]


@pytest.mark.parametrize("name", recipe_names())
def test_every_shipped_recipe_is_valid(name):
    assert isinstance(load_recipe(name), Recipe)


def test_the_wmt_recipes_are_the_papers():
    base, big = load_recipe("wmt14_en_de_base"), load_recipe("wmt14_en_de_big")
    assert (base.training.updates, big.training.updates) == (100_000, 300_000)
    assert (base.training.average_checkpoints, big.training.average_checkpoints) == (5, 20)
    assert base.optimizer.warmup_steps == 4000
    assert base.optimizer.peak_learning_rate is None
    assert (base.evaluation.num_beams, base.evaluation.length_penalty) == (4, 0.6)


def test_the_parsing_recipe_is_section_6_3_s():
    recipe = load_recipe("wsj_parsing")
    assert recipe.tokenizer.vocabulary_size == 16_000
    options = recipe.evaluation.search_options()
    assert (options.num_beams, options.length_penalty, options.extra_length) == (21, 0.3, 300)
    assert (recipe.model.options["num_layers"], recipe.model.options["hidden_dim"]) == (4, 1024)


def test_trees_come_from_one_file_or_folder():
    with pytest.raises(RecipeError, match="with `tree_leaves`, `test` must be a list of one file"):
        load_recipe("wsj_parsing", ["corpus.test=[a.mrg, b.mrg]"])


def test_both_multi30k_recipes_differ_in_the_corpus_alone():
    german, french = (load_recipe(f"multi30k_en_{code}_tiny") for code in ("de", "fr"))
    assert (german.corpus.name, french.corpus.name) == ("multi30k-en-de", "multi30k-en-fr")
    assert german.model_copy(update={"corpus": french.corpus}) == french


def test_options_are_the_presets_unless_the_recipe_says_otherwise():
    widths = [
        load_recipe("wmt14_en_de_base", settings).model.options["hidden_dim"]
        for settings in ([], ["model.preset=transformer_tiny"], ["model.hidden_dim=320"])
    ]
    assert widths == [512, 128, 320]


def test_every_option_of_the_backbone_is_a_field():
    options = inspect.signature(TransformerBackbone).parameters.keys()
    assert {"num_layers", "activation", "attention_bias", "layer_norm_epsilon"} < options
    fields = load_recipe("demo").model.options.keys()
    assert options - fields == {"vocabulary_size", "dtype", "kwargs"}
    settings = ("model.attention_bias=true", "model.activation=swish", *SMALL)
    backbone = load_recipe("demo", settings).build_model(19).backbone
    assert backbone.attention_bias
    assert backbone.activation is keras.activations.swish
    assert backbone.num_layers == 1


def test_a_recipe_states_the_depth_of_each_stack():
    settings = ("model.num_encoder_layers=3", *SMALL)
    recipe = load_recipe("demo", settings)
    backbone = recipe.build_model(19).backbone
    assert (len(backbone.encoder_blocks), len(backbone.decoder_blocks)) == (3, 1)
    matrices = sum(math.prod(w.shape) for w in backbone.weights if len(w.shape) > 1)
    positions = 2 * backbone.max_sequence_length * backbone.hidden_dim
    assert recipe.model.count_weights(vocabulary_size=19) == matrices + positions
    written = yaml.safe_load(recipe.to_yaml())["model"]
    assert (written["num_layers"], written["num_encoder_layers"]) == (1, 3)
    assert "num_decoder_layers" not in written


def test_a_recipe_s_num_layers_holds_for_both_stacks_of_a_preset(monkeypatch):
    deep = {"config": {"num_decoder_layers": 2}, "label_smoothing": 0.1}
    monkeypatch.setitem(TRANSFORMER_PRESETS, "transformer_base", deep)
    for settings, expected in (
        ([], (6, 2)),
        (["model.num_layers=3"], (3, 3)),
        (["model.num_encoder_layers=3"], (3, 2)),
    ):
        options = load_recipe("wmt14_en_de_base", settings).model.options
        assert depths_of(options) == expected


def test_a_num_layers_that_decides_nothing_is_refused():
    settings = ["model.num_encoder_layers=6", "model.num_decoder_layers=2", "model.num_layers=4"]
    with pytest.raises(RecipeError, match=r"`num_layers`=4 has no effect beside .*=6 and .*=2"):
        load_recipe("wmt14_en_de_base", settings)
    assert load_recipe("wmt14_en_de_base", settings[:2]).model.num_layers is None


@pytest.mark.slow
def test_a_recipe_builds_the_preset_it_names():
    recipe = load_recipe("wmt14_en_de_base", ["model.preset=transformer_tiny"])
    ours = recipe.build_model(31).backbone.get_config()
    named = TransformerBackbone.from_preset(
        "transformer_tiny", load_weights=False, vocabulary_size=31
    )
    ignored = {"name", "dtype", "trainable"}
    assert {key: ours[key] for key in ours.keys() - ignored} == {
        key: value for key, value in named.get_config().items() if key not in ignored
    }


def test_a_trained_model_searches_as_its_evaluation_does():
    settings = ["num_beams=5", "length_penalty_offset=0", "max_length=9", "engine=keras"]
    section = load_recipe("demo", [f"evaluation.{each}" for each in settings]).evaluation
    defaults = search_defaults_of(section.search_options())
    assert defaults == {"num_beams": 5, "length_penalty_offset": 0}
    assert search_defaults_of(load_recipe("demo").evaluation.search_options()) == {}


def test_searches_are_those_of_translate_unless_the_recipe_says_otherwise():
    assert EvaluationSection().search_options() == SearchOptions()
    section = load_recipe("demo", ["evaluation.no_repeat_ngram_size=3"]).evaluation
    assert section.search_options() == SearchOptions(no_repeat_ngram_size=3)
    section = load_recipe(
        "demo", ["evaluation.constraint={kind: brackets, max_depth: 9}"]
    ).evaluation
    assert section.search_options() == SearchOptions(constraint=BalancedBrackets(max_depth=9))
    with pytest.raises(RecipeError, match=r"`evaluation`: `constraint` must be one of brackets"):
        load_recipe("demo", ["evaluation.constraint=trees"])
    with pytest.raises(RecipeError, match=r"evaluation\.engine.*give one of auto, keras, ctransl"):
        load_recipe("demo", ["evaluation.engine=fairseq"])
    with pytest.raises(RecipeError, match=r"`evaluation`: `min_length` must be from 0 to"):
        load_recipe("demo", ["evaluation.min_length=5", "evaluation.max_length=4"])


def test_settings_replace_values():
    recipe = load_recipe("demo", ["training.updates=500", "evaluation.num_beams=7"])
    assert (recipe.training.updates, recipe.evaluation.num_beams) == (500, 7)


def test_settings_reach_the_sections_within_sections():
    """`corpus.mix.share` was called an unknown field."""
    settings = ["corpus.mix={name: phrases-en-es}", "corpus.mix.share=0.3"]
    assert load_recipe("tatoeba_en_es", settings).corpus.mix.share == 0.3
    for setting, message in (
        ("corpus.mix.shares=0.3", "unknown field `corpus.mix.shares`. Did you mean `share`?"),
        ("training.updates.seed=3", "`training.updates` must be a section of fields"),
        ("corpus..share=3", "must look like section.field=value"),
    ):
        with pytest.raises(RecipeError, match=re.escape(message)):
            load_recipe("tatoeba_en_es", [*settings, setting])


@pytest.mark.parametrize("name", recipe_names())
def test_yaml_round_trip(tmp_path, name):
    recipe = load_recipe(name, ["training.seed=3"])
    path = tmp_path / "mine.yaml"
    path.write_text(recipe.to_yaml())
    assert load_recipe(path) == recipe


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ((), "nfc"),
        (("tokenizer.normalization=clean_nfkc",), "nfc"),
        (("tokenizer.normalization=clean_nfkc", "tokenizer.target_normalization=null"), "nfc"),
        (("tokenizer.normalization=nmt_nfkc_cf",), None),
        (("tokenizer.normalization=identity",), None),
        (("tokenizer.normalization=nmt_nfkc", "tokenizer.target_normalization=nfc"), "nfc"),
        (("tokenizer.target_normalization=identity",), "identity"),
    ],
)
def test_targets_are_written_as_they_are_unless_both_sides_are_given_other_rules(
    tmp_path, settings, expected
):
    path = tmp_path / "mine.yaml"
    fields = yaml.safe_load(load_recipe("wmt14_en_de_base").to_yaml())
    fields["tokenizer"] = {"vocabulary_size": 37000}
    path.write_text(yaml.safe_dump(fields))
    recipe = load_recipe(path, settings)
    assert recipe.tokenizer.target_normalization == expected
    if not any("tokenizer.normalization" in setting for setting in settings):
        assert recipe.tokenizer.normalization == "clean_nfkc"
    path.write_text(recipe.to_yaml())
    assert load_recipe(path) == recipe


def test_a_typo_gets_the_allowed_names():
    with pytest.raises(RecipeError) as caught:
        load_recipe("demo", ["training.update=300"])
    assert "unknown field `training.update`" in str(caught.value)
    assert "Did you mean `updates`?" in str(caught.value)
    assert "checkpoint_every" in str(caught.value)


def test_wrong_fields_are_named_with_their_lines(tmp_path):
    path = tmp_path / "mine.yaml"
    demo = load_recipe("demo").to_yaml().splitlines()
    place = demo.index("augmentation:")
    demo[place + 1 : place + 1] = ["  numbers: often"]
    demo = [line for n, line in enumerate(demo) if "  numbers: 0" not in line or n <= place]
    path.write_bytes("\ufeff".encode() + "\r\n".join([*demo, "normalization: nfc"]).encode())
    with pytest.raises(RecipeError) as caught:
        load_recipe(path)
    assert f"line {place + 2}: `augmentation.numbers`: Input should be" in str(caught.value)
    assert f"line {len(demo) + 1}: unknown field `normalization`." in str(caught.value)
    assert "Did you mean `tokenizer.normalization`?" in str(caught.value)
    with pytest.raises(RecipeError) as caught:
        load_recipe(path, ["augmentation.numbers=2"])
    assert "yaml: `augmentation.numbers`: Input should be less than 1" in str(caught.value)


def test_an_unknown_section_gets_the_sections():
    with pytest.raises(RecipeError, match=r"`modle`.*Did you mean `model`.*tokenizer"):
        load_recipe("demo", ["modle.dropout=0.1"])


def test_an_unknown_recipe_gets_the_names():
    with pytest.raises(RecipeError, match=r"no recipe 'dmeo'.*demo, multi30k_en_de_tiny"):
        load_recipe("dmeo")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.bleu_every=300", "must be a multiple of `checkpoint_every`=250"),
        ("training.monitor=blue", "`training.monitor`: give loss, bleu, chrf, or a function of"),
        ("training.callbacks=[print]", "`training.callbacks`: "),
        ("training.keep=mean", "'best', 'average' or 'last'"),
        ("training.updates=many", "`training.updates`: .*integer.*'many'"),
        ("model.dropout=1.0", "`model.dropout`: .*less than 1"),
        ("model.dropout=0.995", "`dropout` must be at least 0 and at most 0.99"),
        ("model.num_heads=7", "Recipe [^:`]*: `hidden_dim` must be a multiple of `num_heads`"),
        ("optimizer.label_smoothing=0.995", "`optimizer.label_smoothing`: .*equal to 0.99"),
        ("model.num_decoder_layers=0", "`model.num_decoder_layers`: .*than or equal to 1.*0"),
        ("model.num_layers=0", "`model.num_layers`: .*greater than or equal to 1.*0"),
        ("model.activation=rely", "`model.activation`: Could not interpret .*rely"),
        (
            "model.position_embedding=none",
            "`model.position_embedding`: .*'sinusoidal' or 'learned'",
        ),
        ("evaluation.num_beams=0", "`evaluation.num_beams`: .*greater than or equal to 1.*0"),
        ("evaluation.max_length=0", "`evaluation.max_length`: .*greater than or equal to 1.*0"),
        ("corpus.mix={name: demo, shares: 0.5}", "unknown field `corpus.mix.shares`. Did you mean"),
        ("evaluation.num_return_sequences=2", "unknown field `evaluation.num_return_sequences`"),
        ("training.precision=float8", "float32.*mixed_bfloat16"),
        ("model.preset=transformer_huge", "transformer_tiny.*transformer_base"),
        ("corpus.train=[a.en, a.de]", "either `name` or the files"),
        ("training.devices=all", "`training.devices`: .*'one', 'data_parallel' or 'model_par"),
        ("training.devices=model_parallel", "need each other. .*model_parallel_size=None"),
        ("training.model_parallel_size=2", "need each other. .*devices=one"),
        ("training.updates=2000000000", "`training.updates`: .*less than or equal to 1000000000"),
        ("training.updates=true", "`training.updates`: .*integer.*True"),
        ("training.updates=1000.0", "`training.updates`: .*integer.*1000.0"),
        ("training.seed=99999999999", "`training.seed`: .*less than or equal to 4294967295"),
        ("corpus.train_size=99999999999999", "`corpus.train_size`: .*less than or equal to 10"),
        ("model.hidden_dim=1000000000", "`model.hidden_dim`: .*less than or equal to 65536"),
        ("model.hidden_dim=64000", "the sizes of `model` make .* weights, more than 20,000"),
        ("model.max_sequence_length=10000000000", "`model.max_sequence_length`: .*less than"),
        ("model.dropout=false", "`model.dropout`: .*valid number.*False"),
        ("model=3", "section.field=value"),
        ("optimizer.peak_learning_rate=.inf", "`optimizer.peak_learning_rate`: .*finite.*inf"),
        ("optimizer.peak_learning_rate=.nan", "`optimizer.peak_learning_rate`: .*finite.*nan"),
        ("optimizer.peak_learning_rate=1e30", "`optimizer.peak_learning_rate`: .*equal to 10"),
        ("batches.max_ratio=.inf", "`batches.max_ratio`: .*finite.*inf"),
        ("evaluation.length_penalty=.inf", "`evaluation.length_penalty`: .*finite.*inf"),
        ("evaluation.num_beams=2.0", "`evaluation.num_beams`: .*integer.*2.0"),
        ("training.seed=0x" + "f" * 4000, "`training.seed`: .*4294967295. .*a huge number"),
        ("corpus.train=a.tsv", "`corpus.train`: give a list of one TSV file or two files. .*a.tsv"),
        ("corpus.train=[a, b, c]", "`corpus.train`: give a list of one TSV file or two files"),
        ("corpus.train=[]", "`corpus.train`: give a list of one TSV file or two files"),
        ("corpus.train=[a, a]", "`corpus.train`: give .*: one file twice would teach a model to"),
        ("corpus.test=[1, 2]", "`corpus.test`: give a list of one TSV file or two files"),
        ("training.updates={a: 1, a: 2}", "line 1: the key 'a' appears twice"),
        ("updates=3", "section.field=value"),
        ("training.updates=[", "not YAML"),
    ],
)
def test_wrong_values_are_explained(setting, message):
    with pytest.raises(RecipeError, match=message):
        load_recipe("demo", [setting])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "model.num_heads=4",
            "`num_heads`=4 must be a multiple of `training.model_parallel_size`=8",
        ),
        ("model.intermediate_dim=100", "`intermediate_dim`=100 must be a multiple"),
        ("tokenizer.vocabulary_size=1001", "`vocabulary_size`=1001 must be a multiple"),
    ],
)
def test_a_model_that_does_not_divide_among_devices_is_refused(setting, message):
    base = "model.preset=transformer_base"
    devices = ("training.devices=model_parallel", "training.model_parallel_size=8")
    assert load_recipe("demo", (base, *devices)).training.model_parallel_size == 8
    with pytest.raises(RecipeError, match=message):
        load_recipe("demo", (base, *devices, setting))


@pytest.mark.parametrize(
    "setting", ["train_size=9", "validation_size=9", "test_size=9", "variant=raw"]
)
def test_what_is_for_corpora_by_name_is_refused_for_files(setting):
    files = ("corpus.name=null", "corpus.train=[a.tsv]", "corpus.validation=[b.tsv]")
    sizes = ("corpus.train_size=null", "corpus.validation_size=null")
    assert load_recipe("demo", (*files, *sizes)).corpus.train == ("a.tsv",)
    with pytest.raises(RecipeError, match=f"leave out `{setting.partition('=')[0]}`"):
        load_recipe("demo", (*files, *sizes, f"corpus.{setting}"))


def test_products_in_bfloat16_do_not_go_with_xla():
    settings = ("training.precision=bfloat16_products", "training.jit_compile=true")
    with pytest.raises(RecipeError, match="cannot be combined with `jit_compile`"):
        load_recipe("demo", settings)


def test_a_missing_field_is_named(tmp_path):
    path = tmp_path / "short.yaml"
    path.write_text(yaml.safe_dump({"corpus": {"name": "demo"}}))
    with pytest.raises(RecipeError, match=r"field `tokenizer` is missing.*`training` is missing"):
        load_recipe(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no recipe file .*mine\.yaml"):
        load_recipe(tmp_path / "mine.yaml")


def test_a_file_that_is_no_recipe(tmp_path):
    path = tmp_path / "list.yaml"
    path.write_text("- demo\n")
    with pytest.raises(RecipeError, match="must hold the sections corpus, augmentation, tokenizer"):
        load_recipe(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("corpus: &a {name: demo}\ntokenizer: *a\n", "line 1: aliases and anchors"),
        ("corpus: {}\ncorpus: {}\n", "line 2: the key 'corpus' appears twice"),
        ("corpus: demo\n", "`corpus`: must be a section of fields. Received: 'demo'"),
        ("corpus: {name: demo, train: a.tsv}\n", "`corpus.train`: give a list of one TSV file"),
        (b"corpus: {name: \xff}\n", "line 1: not valid UTF-8"),
        ("[" * 1000, "nested too deeply"),
        ("1: 2\n", "a key must be a string"),
        ("{a: 1, b: 1, c: 1}", r"field `corpus` is missing\. .* And 3 more\.$"),
        ("", "must hold the sections"),
    ],
)
def test_hostile_yaml_is_refused_with_its_file(tmp_path, text, message):
    path = write(tmp_path / "mine.yaml", text)
    with pytest.raises(RecipeError, match=rf"mine\.yaml.*{message}"):
        load_recipe(path)


def test_a_recipe_is_a_regular_file_of_bounded_size(tmp_path):
    (tmp_path / "endless.yaml").symlink_to("/dev/zero")
    with pytest.raises(OSError, match=r"endless\.yaml is not a regular file"):
        load_recipe(tmp_path / "endless.yaml")
    large = write(tmp_path / "large.yaml", "#" * 100_001)
    with pytest.raises(ValueError, match=r"large\.yaml has more than 100,000 bytes"):
        load_recipe(large)


def test_the_size_of_a_model_is_known_before_it_is_built():
    recipe = load_recipe("demo", (*SMALL, "model.key_dim=3", "model.position_embedding=learned"))
    built = recipe.build_model(vocabulary_size=19).backbone.count_params()
    counted = recipe.model.count_weights(vocabulary_size=19)
    assert counted == pytest.approx(built, rel=0.05)  # without biases and norms


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ((), 0.1),
        (("model.preset=transformer_base_smoothing_02",), 0.2),
        (("model.preset=transformer_base_smoothing_02", "optimizer.label_smoothing=0.3"), 0.3),
        (("optimizer.label_smoothing=0.0",), 0.0),
    ],
)
def test_label_smoothing_is_the_preset_s_unless_given(settings, expected):
    recipe = load_recipe("demo", (*SMALL, *settings))
    assert recipe.build_model(vocabulary_size=19).loss.label_smoothing == expected


def test_a_corpus_by_name_brings_its_own_test_text():
    with pytest.raises(RecipeError, match="leave out `test`: a corpus by `name` brings its own"):
        load_recipe("demo", ["corpus.test=[a.en, a.de]"])


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        (("batches.packing=true", "batches.max_shapes=4"), ["batches.max_shapes"]),
        (("augmentation.variants=3",), ["augmentation.variants"]),
        (("batches.packing=true", "augmentation.variants=3", "augmentation.joined=0.1"), []),
        (("batches.packing=false", "batches.max_shapes=4"), []),
    ],
)
def test_fields_that_change_nothing_are_named(settings, fields):
    found = load_recipe("demo", settings).fields_without_effect()
    assert [sentence.split("`")[1] for sentence in found] == fields
