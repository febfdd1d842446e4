"""Downloads from the Hugging Face Hub, with a double of its client."""

import pytest
from huggingface_hub.errors import EntryNotFoundError, HFValidationError, LocalEntryNotFoundError

from aiayn_keras.common.file_addresses import download, is_hub_address

ADDRESS = "hf://nobody/model"


@pytest.fixture(name="serve")
def hub_double(monkeypatch, tmp_path):
    """A function that makes a double of the hub: of its files by commit, and of its cache."""

    def serve(commits, *, is_reachable=True, known_to_be_missing=()):
        def hf_hub_download(handle, name):
            assert handle == "nobody/model"
            for commit, names in commits.items():
                if name in names:
                    return str(tmp_path / commit / name)
            if not is_reachable:
                raise LocalEntryNotFoundError("no connection")
            raise EntryNotFoundError(name)

        def try_to_load_from_cache(handle, name):
            import huggingface_hub

            return huggingface_hub._CACHED_NO_EXIST if name in known_to_be_missing else None

        monkeypatch.setattr("huggingface_hub.hf_hub_download", hf_hub_download)
        monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", try_to_load_from_cache)

    return serve


def test_an_address_is_not_a_path():
    assert all(map(is_hub_address, (ADDRESS, "kaggle://a/b", "modelscope://a/b")))
    assert not any(map(is_hub_address, ("model", "/hf:/model", "s3://bucket/model")))


def test_the_folder_of_all_files_is_found(serve, tmp_path):
    serve({"1": ["config.json", "assets/words.txt", "b.bin", "README.md"]})
    names = ["config.json", "assets/words.txt"]
    assert download(ADDRESS, names, one_of=["a.bin", "b.bin"]) == tmp_path / "1"
    assert download(ADDRESS, names, optional=["README.md", "NOTES.md"]) == tmp_path / "1"


def test_a_model_that_changes_meanwhile_is_refused(serve):
    serve({"1": ["config.json"], "2": ["b.bin", "README.md"]})
    for arguments in ({"one_of": ["b.bin"]}, {"optional": ["README.md"]}):
        with pytest.raises(OSError, match="changed while it was being downloaded: try again"):
            download(ADDRESS, ["config.json"], **arguments)


def test_missing_files_are_named(serve):
    serve({"1": ["config.json"]})
    with pytest.raises(FileNotFoundError, match=r"model does not have the file words\.txt"):
        download(ADDRESS, ["config.json", "words.txt"])
    with pytest.raises(FileNotFoundError, match=r"neither a\.bin nor b\.bin"):
        download(ADDRESS, ["config.json"], one_of=["a.bin", "b.bin"])


def test_without_a_connection_a_file_is_missing_only_if_the_cache_says_so(serve, tmp_path):
    serve({"1": ["config.json"]}, is_reachable=False, known_to_be_missing=["NOTES.md"])
    assert download(ADDRESS, ["config.json"], optional=["NOTES.md"]) == tmp_path / "1"
    with pytest.raises(FileNotFoundError, match=r"README\.md\. Or the hub cannot be reached"):
        download(ADDRESS, ["config.json"], optional=["README.md"])


@pytest.mark.parametrize("address", ["kaggle://a/b/keras/c", "modelscope://a/b"])
def test_other_hubs_are_refused_with_a_remedy(address):
    with pytest.raises(ValueError, match=r"only hf:// addresses .* and give its folder"):
        download(address, ["config.json"])


def test_an_address_of_another_form_is_refused(monkeypatch):
    def hf_hub_download(handle, name):
        raise HFValidationError("Repo id must\nbe in the form")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", hf_hub_download)
    with pytest.raises(ValueError, match=r"not an address of the form hf://USER/MODEL: Repo id"):
        download("hf://a/b/c", ["config.json"])
