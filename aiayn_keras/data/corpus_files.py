"""The corpus files of others: where they live and the checksums they must have."""

from aiayn_keras.data.downloads import RemoteFile

# The pinned commit first: its files cannot change.
MULTI30K_HOMES = tuple(
    f"https://raw.githubusercontent.com/multi30k/dataset/{revision}/data/task1"
    for revision in ("a3d2e0d26b56f3846f66a952536ffed4e401d05a", "master")
)
TATOEBA_HOMES = (
    "https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip",
    "http://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip",
)
MULTI30K_SPLITS = {"train": "train", "validation": "val", "test": "test_2016_flickr"}
# Of the unpacked files, by variant, split and language.
MULTI30K_SHA256 = {
    "raw/test.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "raw/test.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "raw/test.fr": "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
    "raw/train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "raw/train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "raw/train.fr": "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
    "raw/validation.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "raw/validation.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "raw/validation.fr": "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
    "tok/test.de": "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4",
    "tok/test.en": "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2",
    "tok/test.fr": "1463bd5960f9bfe098ec3cd752d3df0c49c84dc646fb518964a29232658cd836",
    "tok/train.de": "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505",
    "tok/train.en": "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119",
    "tok/train.fr": "8fa41bb718412bcb7c5dfa58603842810a01543eae86a51279f9886b901266e1",
    "tok/validation.de": "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00",
    "tok/validation.en": "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec",
    "tok/validation.fr": "b303e301aa21fe7822a846b2b3fb2d5a1121ec807cd5b1d006fb7b2b5507168a",
}
TATOEBA_SHA256 = "6ec60e212f812ee3430f7568ea6f33b6fb080e32193c5952e8da0ee8ba45574c"


def _multi30k_file(key):
    """The remote file of a key such as `tok/train.en`."""
    variant, name = key.split("/")
    split, language = name.split(".")
    # The raw files are served compressed, the tokenised ones are not.
    middle, ending = ("", ".gz") if variant == "raw" else (".lc.norm.tok", "")
    path = f"{variant}/{MULTI30K_SPLITS[split]}{middle}.{language}"
    urls = tuple(f"{home}/{path}{ending}" for home in MULTI30K_HOMES)
    return RemoteFile(f"multi30k/{path}", MULTI30K_SHA256[key], urls)


MULTI30K = {key: _multi30k_file(key) for key in MULTI30K_SHA256}
TATOEBA = RemoteFile(
    path="tatoeba-spa-eng/spa.txt",
    sha256=TATOEBA_SHA256,
    urls=TATOEBA_HOMES,
    member="spa-eng/spa.txt",
)
