"""Pairs of files by their names: who meets, and who is named for meeting nobody."""

import pytest

from aiayn_keras.common.found_files import find_files
from aiayn_keras.scale.parts import pair_files
from aiayn_keras_light.text_files import CorpusError


def pairs_of(folder, patterns, *sides):
    for names in sides:
        for name in names.split():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
    patterns = [f"{folder}/{pattern}" for pattern in patterns]
    pairs = pair_files(patterns, [find_files(pattern) for pattern in patterns])
    return [" ".join(file.address.removeprefix(f"{folder}/") for file in pair) for pair in pairs]


@pytest.mark.parametrize(
    ("patterns", "sources", "targets"),
    [
        (("*.en", "*.de"), "p-0.en p-1.en", "p-0.de p-1.de"),
        (("*.en", "*.de.gz"), "1.en 10.en 2.en", "1.de.gz 10.de.gz 2.de.gz"),
        (("en/*", "de/*"), "en/1.en en/2.en", "de/1.de de/2.de"),
        (("en/*", "de/*"), "en/1 en/1.2", "de/1 de/1.2"),
        (("en/*.txt", "de/*.txt"), "en/1a.txt en/2a.txt", "de/1a.txt de/2a.txt"),
        (("a*.en.*", "a*.de.*"), "a1.en.1 a2.en.2", "a1.de.1 a2.de.2"),
        (("**/*.en", "**/*.de"), "a/1.en b/1.en 1.en", "a/1.de b/1.de 1.de"),
        (("v1.en.*", "v2.de.*"), "v1.en.7 v1.en.8", "v2.de.7 v2.de.8"),
        (("p-?.en", "p-[0-9].de"), "p-1.en p-2.en", "p-1.de p-2.de"),
        (("p-*.en", "p-*.de"), "p-1.en", "p-1.de"),
        (("a.en", "b.de"), "a.en", "b.de"),
        (("[a].en", "[b].de"), "[a].en", "[b].de"),
    ],
)  # fmt: skip
def test_names_meet_by_what_differs_between_those_of_one_side(tmp_path, patterns, sources, targets):
    expected = set(map(" ".join, zip(sources.split(), targets.split(), strict=True)))
    assert set(pairs_of(tmp_path, patterns, sources, targets)) == expected


def test_the_order_of_names_does_not_matter(tmp_path):
    sides = "1_en 10_en", "1.de 10.de"  # `_` comes after the digits, `.` before them
    assert pairs_of(tmp_path, ("*_en", "*.de"), *sides) == ["10_en 10.de", "1_en 1.de"]


@pytest.mark.parametrize(
    ("patterns", "sources", "targets", "alone"),
    [
        (("p-*.en", "p-*.de"), "p-0.en p-1.en p-2.en", "p-0.de p-2.de p-3.de", "p-1.en p-3.de"),
        (("en/*", "de/*"), "en/1.en en/2.en", "de/2.de de/3.de", "en/1.en de/3.de"),
        (("p-*.en", "p-*.de"), "p-10.en p-11.en", "p-20.de p-21.de", "p-10.en p-21.de"),
        (("en/*", "de/*"), "en/p-aa en/p-ab", "de/p-ba de/p-bb", "en/p-aa de/p-bb"),
        (("p-*.en", "p-*.de"), "p-1.en", "p-2.de", "p-1.en p-2.de"),
        (("*.en", "*.de"), "1.en 2.en", "2.de", "1.en"),
        (("*.en", "*.de"), "1.en 2.en", "01.de 02.de", "1.en 02.de"),
    ],
)  # fmt: skip
def test_names_that_do_not_meet_are_named(tmp_path, patterns, sources, targets, alone):
    with pytest.raises(CorpusError, match="what differs between the names") as caught:
        pairs_of(tmp_path, patterns, sources, targets)
    named = str(caught.value).partition("Without a partner: ")[2].rstrip(".").split(", ")
    assert {str(tmp_path / name) for name in alone.split()} <= set(named)


def test_few_of_many_names_are_given(tmp_path):
    sources = " ".join(f"{n}.en" for n in range(9))
    with pytest.raises(CorpusError, match=r"partner: (\S+, ){3}\S+ and 4 more\.$"):
        pairs_of(tmp_path, ("*.en", "*.de"), sources, "3.de")
