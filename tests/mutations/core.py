"""The numerical core, and the tests that must notice a mistake in it."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "aiayn_keras"

CORE = (
    "layers/*.py",
    "optimization/*.py",
    "decoding/*.py",
    "decoding/constraints/*.py",
    "backend/kernels.py",
    "backend/kernels.py",
    "backend/kernels.py",
    "models/transformer_backbone.py",
    "training/averaging.py",
    "training/validation.py",
    "data/pair_batches.py",
    "data/packed_batches.py",
    "data/update_batches.py",
)
# Tests of a module, or of all modules of a folder, beside those of the mirrored path.
MORE_TESTS = {
    "layers": ("models/test_transformer_backbone.py",),
    "decoding": ("models/test_transformer_seq2seq_lm.py",),
    "decoding/candidates.py": ("decoding/constraints",),
    "backend/kernels.py": ("decoding",),
    "models/transformer_backbone.py": ("layers",),
    "data/pair_batches.py": ("data/test_packed_batches.py", "data/test_token_batches.py"),
    "data/update_batches.py": ("training/test_accumulation.py",),
}


def core_modules(package=ROOT / PACKAGE, patterns=CORE):
    """Paths of the modules of the core, relative to the package."""
    paths = (path for pattern in patterns for path in sorted(package.glob(pattern)))
    return [path.relative_to(package).as_posix() for path in paths if path.name != "__init__.py"]


def stages_of_tests(module, tests=ROOT / "tests"):
    """Tests that are asked one stage after the other, until one notices.

    Args:
        module: Path of the module, relative to the package.
        tests: Folder of the tests.

    Returns:
        List of stages, each a list of paths relative to `tests`: the file of the mirrored path
        first, then the other tests of its folder, then those of `MORE_TESTS`.
    """
    path = Path(module)
    mirrored = path.with_name(f"test_{path.name}")
    folder = sorted(file.relative_to(tests) for file in (tests / path.parent).glob("test_*.py"))
    stages = [[mirrored] if mirrored in folder else [], [f for f in folder if f != mirrored]]
    stages.append([*MORE_TESTS.get(module, ()), *MORE_TESTS.get(path.parts[0], ())])
    return [[Path(test).as_posix() for test in stage] for stage in stages if stage]
