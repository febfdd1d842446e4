"""The corpus files of others: their addresses, and the checksums they must have."""

from importlib import resources

from aiayn_keras.data.downloads import RemoteFile

# The pinned commit first: its files cannot change.
MULTI30K_HOMES = tuple(
    f"https://raw.githubusercontent.com/multi30k/dataset/{revision}/data/task1"
    for revision in ("a3d2e0d26b56f3846f66a952536ffed4e401d05a", "master")
)
MULTI30K_SPLITS = {"train": "train", "validation": "val", "test": "test_2016_flickr"}
# Of the unpacked files, as `sha256sum --check` reads them in the data folder.
_LINES = (resources.files("aiayn_keras.data") / "checksums.txt").read_text("utf-8").splitlines()
SHA256 = {path: digest for digest, path in map(str.split, _LINES)}


def _multi30k_file(variant, split, language):
    # The raw files are served compressed, the tokenised ones are not.
    middle, ending = ("", ".gz") if variant == "raw" else (".lc.norm.tok", "")
    name = f"{variant}/{MULTI30K_SPLITS[split]}{middle}.{language}"
    urls = tuple(f"{home}/{name}{ending}" for home in MULTI30K_HOMES)
    return RemoteFile(f"multi30k/{name}", SHA256[f"multi30k/{name}"], urls)


MULTI30K = {
    f"{variant}/{split}.{language}": _multi30k_file(variant, split, language)
    for variant in ("raw", "tok")
    for split in MULTI30K_SPLITS
    for language in ("de", "en", "fr")
}
TATOEBA = RemoteFile(
    path="tatoeba-spa-eng/spa.txt",
    sha256=SHA256["tatoeba-spa-eng/spa.txt"],
    urls=tuple(
        f"{scheme}://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"
        for scheme in ("https", "http")
    ),
    member="spa-eng/spa.txt",
)
# Release 5; the sha256 sums are those of the files' content in it.
CRAFT_HOME = "https://raw.githubusercontent.com/UCDenver-ccp/CRAFT/master"
CRAFT = {
    path.removeprefix("craft/"): RemoteFile(
        path, digest, (f"{CRAFT_HOME}/{path.removeprefix('craft/')}",)
    )
    for path, digest in SHA256.items()
    if path.startswith("craft/")
}
