# Needs Python 3.11 to 3.13 with pip, and make. Every target sets up what it uses.

VENV ?= .venv
VENV_WITHOUT_TENSORFLOW ?= .venv-without-tensorflow
VENV_TPU ?= .venv-tpu
VENV_LOWEST ?= .venv-lowest
# To have the small wheel from PyTorch's own index:
#   make test-backends TORCH="torch --index-url https://download.pytorch.org/whl/cpu"
TORCH ?= torch==2.13.0
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& echo $$python && break; done)
DEMO_SENTENCES := "The girl is happy." "Our boy knows that the happy mothers sing every day." \
	"Their man is seventy-one years old." "In the evening I can see the woman."
TATOEBA_SENTENCES := "Where is the nearest train station?" "I would like a cup of coffee, please." \
	"My sister works in a hospital and her husband is a teacher. They have two children."
DEMO_LIMITS := "knows the sentences of the package's built-in grammar (some hundred words, numbers to 999,999, times of day) and nothing else; other words come out as nonsense"
TATOEBA_LIMITS := "knows everyday sentences, letters, labels, signs, chats and news; technical and literary text, and words that it has rarely read come out wrong, now and then with confidence; see the README of tatoeba_en_es_keras"
TATOEBA_LICENSE := "the weights: CC BY 2.0 FR, as the sentences of Tatoeba (tatoeba.org, by way of manythings.org/anki) that they are trained on; the graph: Apache 2.0"
MODEL_FILES := SHA256SUMS assets *.json model.weights.h5 recipe.yaml
MUTANTS ?= 100
# Whole files to a process, since their fixtures train models; the longest first. A process comes to
# 4 GB: more than two of them need a large machine. A test that hangs for ten minutes, or that ends
# its process, is named and ends the run: by default xdist 3.8 starts a new process and may wait forever
# (https://github.com/pytest-dev/pytest-xdist/issues/1323).
# The plugin for notebooks takes seconds to load, in each process.
PYTEST := python -m pytest -p no:nbmake --timeout 600 --timeout-method thread --numprocesses 2 --max-worker-restart 0 \
	--dist loadfile --no-loadscope-reorder
ALL := -m ""  # the slow tests, too
# JAX's compiler takes most of the time of its tests; without these it takes twice as long.
QUICK_XLA := JAX_DISABLE_MOST_OPTIMIZATIONS=1 XLA_FLAGS=--xla_cpu_use_fusion_emitters=false
# The longest lessons, of twenty seconds or more each on two cores.
LONG_LESSONS := 06c 07 09 10 12 13 15 16 18 19 20 21
# A process of the tests grows by gigabytes, as TensorFlow keeps what was traced: these run first, and
# the others in new processes.
LARGE := tests/test_readme.py tests/training tests/scale tests/export
# Of the converters, those that compare with the libraries.
CONVERTERS := $(addprefix tests/convert/test_,$(addsuffix .py,marian ctranslate2 fairseq))
# Of the exports, those that run in another library's engine.
ENGINES := $(addprefix tests/export/test_,$(addsuffix .py,ctranslate2 hf_marian litert onnx openvino tokenizer_json))
# It speaks S3's protocol on loopback, for tests/scale.
S3_SERVER := moto flask flask-cors
ON_RAY_AND_S3 := $(addprefix tests/scale/test_,worker_pool.py object_store.py parts.py)
# What a backend computes: layers, losses, the search's steps, accumulation, and all against each other.
NUMERICAL_CORE := tests/fidelity tests/layers tests/optimization tests/backend tests/training/test_accumulation.py \
	$(addprefix tests/decoding/test_,$(addsuffix .py,beam_sampler beam_search candidates cached_decoding many_devices search_options))
# For `make test-all`, with what is built on these: models, translations, trainings.
EVERYTHING_ON_A_BACKEND := tests/backend tests/layers tests/optimization tests/models tests/decoding tests/fidelity \
	$(addprefix tests/training/test_,$(addsuffix .py,accumulation averaging damaged_runs fitting kills many_devices packing \
	resume trainer two_processes))
# Programs of proof that take minutes each; `tests/claims/__init__.py` says what they claim.
CLAIMS := kills runs folders arguments data_kinds inputs servers documents names sets time engine_equality
CLAIM_SENTENCES := build/claim_sentences.txt

BIN := $(VENV)/bin
# $(INSTALL) ENVIRONMENT WHAT: uv takes a fifth of pip's time. It does not read pip's configuration, so where it fails
# (a company's own index, say), pip installs the same.
INSTALL = install() { python=$$1/bin/python; shift; set -- --constraint constraints.txt "$$@"; \
	{ $$python -m pip install --quiet uv && $$python -m uv pip install --quiet --compile-bytecode --python $$python "$$@"; } \
	|| $$python -m pip install "$$@"; }; install
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
INSTALLED_NOTEBOOKS := $(VENV)/.installed-notebooks
INSTALLED_BOOK := $(VENV)/.installed-book
INSTALLED_BACKENDS := $(VENV)/.installed-backends
INSTALLED_WITHOUT_TENSORFLOW := $(VENV_WITHOUT_TENSORFLOW)/.installed
INSTALLED_TPU := $(VENV_TPU)/.installed
INSTALLED_LOWEST := $(VENV_LOWEST)/.installed

# Tests start hundreds of processes, none of which needs to compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo release-demo release-tatoeba test test-all test-backends test-jax test-torch test-engines environment test-without-tensorflow test-lowest tpu-environment tutorials tutorials-quick notebooks book play play-runtime mutants lint format clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-24s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED) ## Make a virtual environment in .venv with the package and what it needs
	@echo "Ready. Now: source $(VENV)/bin/activate"

# Two installations instead of six. pip installs PyTorch, since TORCH holds pip's options.
environment: pyproject.toml constraints.txt | $(BIN)/python ## Install what every target needs that runs in .venv
	$(BIN)/python -m pip install --constraint constraints.txt $(TORCH)
	$(INSTALL) $(VENV) --editable ".[dev,documents,notebooks,book,jax,torch,interop,scale]" $(S3_SERVER)
	@touch $(INSTALLED) $(INSTALLED_DEV) $(INSTALLED_NOTEBOOKS) $(INSTALLED_BOOK) $(INSTALLED_BACKENDS)

demo: $(INSTALLED) ## Train on the built-in corpus, export, and translate with the export; all in runs/
	@test ! -f runs/demo/evaluation.json || rm -rf runs/demo  # finished; an unfinished one goes on
	$(BIN)/aiayn-keras train demo --output runs/demo
	rm -rf runs/demo_export
	@printf '%s\n' $(DEMO_SENTENCES) > runs/demo/warmup.en
	$(BIN)/aiayn-keras export saved-model runs/demo --output runs/demo_export --name demo_en_de \
		--warmup runs/demo/warmup.en --license "Apache 2.0" --limits $(DEMO_LIMITS)
	@echo; echo "Translated by runs/demo_export/demo_en_de/1 without aiayn_keras:"
	@printf '%s\n' $(DEMO_SENTENCES) | $(BIN)/python saved_models/translate.py runs/demo_export/demo_en_de/1

release-demo: demo ## Run the demo and put its models in the place of those in saved_models/
	rm -rf saved_models/demo_en_de saved_models/demo_en_de_keras
	cp -R runs/demo_export/demo_en_de saved_models/demo_en_de
	mkdir saved_models/demo_en_de_keras
	cd runs/demo && cp -R $(MODEL_FILES) ../../saved_models/demo_en_de_keras

release-tatoeba: $(INSTALLED) ## Train tatoeba_en_es, for hours, and put its models in the place of those in saved_models/
	$(BIN)/aiayn-keras train tatoeba_en_es --output runs/tatoeba_en_es
	rm -rf runs/release
	$(BIN)/aiayn-keras export preset runs/tatoeba_en_es --output runs/release --name tatoeba_en_es_keras
	printf '%s\n' $(TATOEBA_SENTENCES) > runs/release/warmup.en
	$(BIN)/aiayn-keras export saved-model runs/release/tatoeba_en_es_keras --output runs/release \
		--name tatoeba_en_es --weights float16 --documents --warmup runs/release/warmup.en \
		--license $(TATOEBA_LICENSE) --limits $(TATOEBA_LIMITS)
	rm -rf saved_models/tatoeba_en_es
	cp -R runs/release/tatoeba_en_es saved_models
	mkdir -p saved_models/tatoeba_en_es_keras  # its README, the model card, stays
	rm -f saved_models/tatoeba_en_es_keras/fine_tuning*.yaml  # of the model before
	cp -R runs/release/tatoeba_en_es_keras/. saved_models/tatoeba_en_es_keras

test: $(INSTALLED_DEV) ## Run the tests on the TensorFlow backend, the slow ones left out
	$(QUICK_XLA) KERAS_BACKEND=tensorflow $(BIN)/$(PYTEST) $(LARGE)
	$(QUICK_XLA) KERAS_BACKEND=tensorflow $(BIN)/$(PYTEST) tests $(addprefix --ignore=,$(LARGE))

test-backends: test-jax test-torch test-engines ## Run the tests of what a backend computes on JAX and on PyTorch; engines, converters, Ray

test-jax: $(INSTALLED_BACKENDS)
	$(QUICK_XLA) KERAS_BACKEND=jax $(BIN)/$(PYTEST) $(NUMERICAL_CORE)

test-torch: $(INSTALLED_BACKENDS)
	OMP_NUM_THREADS=1 KERAS_BACKEND=torch $(BIN)/$(PYTEST) $(NUMERICAL_CORE)

# Where all backends are installed, `make test` has run these.
test-engines: $(INSTALLED_BACKENDS)
	$(QUICK_XLA) KERAS_BACKEND=tensorflow $(BIN)/$(PYTEST) tests/fidelity tests/backend_agreement $(ON_RAY_AND_S3) $(ENGINES) $(CONVERTERS) \
		tests/convert/test_foreign_models.py

test-all: $(INSTALLED_BACKENDS) ## The check of a release, hours: every test on every backend, the programs of tests/claims, a sample of mutants
	$(QUICK_XLA) KERAS_BACKEND=tensorflow $(BIN)/$(PYTEST) $(ALL)
	$(QUICK_XLA) KERAS_BACKEND=jax $(BIN)/$(PYTEST) $(ALL) $(EVERYTHING_ON_A_BACKEND)
	OMP_NUM_THREADS=1 KERAS_BACKEND=torch $(BIN)/$(PYTEST) $(ALL) $(EVERYTHING_ON_A_BACKEND) $(CONVERTERS)
	set -e; for claim in $(CLAIMS); do KERAS_BACKEND=tensorflow $(BIN)/python -m tests.claims.$$claim; done
	KERAS_BACKEND=tensorflow $(BIN)/python -m tests.claims.kit_ops --check
	KERAS_BACKEND=tensorflow $(BIN)/python -m tests.claims.token_ids saved_models/tatoeba_en_es_keras
	mkdir -p $(dir $(CLAIM_SENTENCES))
	$(BIN)/python -c 'from aiayn_keras.data import load_corpus as load; print(*load("demo").test.sources, sep="\n")' > $(CLAIM_SENTENCES)
	set -e; for part in fuzz invariance soak; do \
		$(BIN)/python -m tests.claims.hardening $$part saved_models/demo_en_de/1 --source $(CLAIM_SENTENCES); done
	KERAS_BACKEND=tensorflow $(BIN)/python -m tests.claims.served_texts saved_models/tatoeba_en_es_keras \
		saved_models/tatoeba_en_es/1 --source $(CLAIM_SENTENCES)
	$(MAKE) test-without-tensorflow test-lowest mutants lint tutorials book

test-without-tensorflow: $(INSTALLED_WITHOUT_TENSORFLOW) ## Train, translate and save on JAX where no TensorFlow is installed
	$(QUICK_XLA) KERAS_BACKEND=jax $(VENV_WITHOUT_TENSORFLOW)/bin/python -m pytest tests/test_without_tensorflow.py

# Warnings are not errors here: old libraries use what newer ones have deprecated.
PYTEST_LOWEST = $(VENV_LOWEST)/bin/$(PYTEST) --override-ini filterwarnings=default --disable-warnings
test-lowest: $(INSTALLED_LOWEST) ## Run tests with the oldest versions of the dependencies that pyproject.toml allows
	KERAS_BACKEND=tensorflow $(PYTEST_LOWEST) \
		$(addprefix tests/,cli common convert data documents export light models parsing plotting serving)
	KERAS_BACKEND=jax $(PYTEST_LOWEST) tests/backend tests/layers tests/optimization tests/decoding/test_beam_search.py

tpu-environment: $(INSTALLED_TPU) ## Make an environment with the compilers for TPUs and GPUs, for python -m benchmarks.tpu, and try it
	KERAS_BACKEND=jax $(VENV_TPU)/bin/python -m pytest tests/benchmarks

# Two notebooks at a time, so one thread for each operation: more would wait for each other.
tutorials: $(INSTALLED_NOTEBOOKS) ## Run the notebooks of all lessons and change nothing (make test runs the solutions)
	KERAS_BACKEND=tensorflow TF_NUM_INTRAOP_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --nbmake --nbmake-timeout=600 --durations=0 tutorials --ignore=tutorials/solutions \
		$(foreach lesson,$(LEFT_OUT),--ignore-glob='tutorials/$(lesson)_*')

tutorials-quick: ## Run the notebooks of all lessons but the twelve longest, as CI does; make test-all runs those too
	$(MAKE) tutorials LEFT_OUT="$(LONG_LESSONS)"

notebooks: $(INSTALLED_NOTEBOOKS) ## Make every notebook from its source, run it and keep its outputs
	KERAS_BACKEND=tensorflow $(BIN)/python tutorials/execute.py

book: $(INSTALLED_BOOK) ## Build lessons, how-to pages and reference as a web site, build/book/html, and check its links
	@mkdir -p build/book/source
	KERAS_BACKEND=tensorflow $(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky \
		--conf-dir book --doctree-dir build/book/doctrees build/book/source build/book/html
	$(BIN)/python -m book.links build/book/html

play-runtime: $(INSTALLED_BOOK) ## Download ONNX Runtime Web by npm, which the page to type into and its tests need
	$(BIN)/python -m book.play

play: book ## Build the book and serve it; its page to type into is http://127.0.0.1:8000/play/
	@echo "Type a sentence: http://127.0.0.1:8000/play/"
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/book/html 8000

mutants: $(INSTALLED_DEV) ## Make a sample of MUTANTS mistakes in a copy of the numerical core and see which test notices
	$(BIN)/python -m tests.mutants --sample $(MUTANTS)

lint: $(INSTALLED_DEV) ## Check format, style, docstrings and which module imports which
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports

format: $(INSTALLED_DEV) ## Put the code into the house format
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean: ## Remove the environments, the caches and the builds (saved models and runs stay)
	rm -rf $(VENV) $(VENV_WITHOUT_TENSORFLOW) $(VENV_TPU) $(VENV_LOWEST) build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find aiayn_keras tests -name __pycache__ -type d -prune -exec rm -rf {} +

define find-python
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed; none of python3, python3.13, python3.12, python3.11 is one. Give it as: make PYTHON=/path/to/python3.12" >&2; exit 1; }
endef

$(BIN)/python:
	$(find-python)
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) $(VENV) --editable .
	@touch $@

$(INSTALLED_DEV): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) $(VENV) --editable ".[dev]"
	@touch $(INSTALLED) $@

$(INSTALLED_NOTEBOOKS): $(INSTALLED_DEV)
	$(INSTALL) $(VENV) --editable ".[dev,notebooks]"
	@touch $@

$(INSTALLED_BOOK): $(INSTALLED_DEV)
	$(INSTALL) $(VENV) --editable ".[dev,book]"
	@touch $@

$(INSTALLED_BACKENDS): $(INSTALLED_DEV)
	$(BIN)/python -m pip install --constraint constraints.txt $(TORCH)
	$(INSTALL) $(VENV) --editable ".[dev,jax,torch,interop,scale]" $(S3_SERVER)
	@touch $@

$(INSTALLED_WITHOUT_TENSORFLOW): pyproject.toml constraints.txt requirements-without-tensorflow.txt
	$(find-python)
	$(PYTHON) -m venv $(VENV_WITHOUT_TENSORFLOW)
	$(INSTALL) $(VENV_WITHOUT_TENSORFLOW) --requirement requirements-without-tensorflow.txt jax pytest hypothesis
	$(INSTALL) $(VENV_WITHOUT_TENSORFLOW) --no-deps keras-hub --editable .
	@touch $@

$(INSTALLED_TPU): pyproject.toml constraints.txt requirements-without-tensorflow.txt
	$(find-python)
	$(PYTHON) -m venv $(VENV_TPU)
	$(INSTALL) $(VENV_TPU) --requirement requirements-without-tensorflow.txt "jax[tpu]" pytest hypothesis
	# Of JAX for GPUs the compiler alone, without NVIDIA's libraries.
	$(INSTALL) $(VENV_TPU) --no-deps jax-cuda12-plugin jax-cuda12-pjrt
	$(INSTALL) $(VENV_TPU) --no-deps keras-hub --editable .
	@touch $@

# The oldest versions of what the package needs, the newest of what only the tests need.
$(INSTALLED_LOWEST): pyproject.toml
	$(find-python)
	$(PYTHON) -m venv $(VENV_LOWEST)
	$(VENV_LOWEST)/bin/python -m pip install --quiet uv
	$(VENV_LOWEST)/bin/python -m uv pip install --python $(VENV_LOWEST) --resolution lowest-direct --editable ".[documents,fast,jax]"
	$(VENV_LOWEST)/bin/python -m uv pip install --python $(VENV_LOWEST) hypothesis kubernetes-validate pytest pytest-timeout pytest-xdist python-docx scipy
	@touch $@
