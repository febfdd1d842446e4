"""`aiayn-keras serve`."""

import shlex
from pathlib import Path

import click

from aiayn_keras.cli.model_folder import check_model_folder, load_model
from aiayn_keras.cli.search_arguments import is_given, search_options
from aiayn_keras.quiet_start import quiet_start


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--port",
    type=click.IntRange(min=0, max=65535),
    default=8000,
    show_default=True,
    help="Port of this machine, which no other machine reaches; 0 for any free one.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the web browser.")
@search_options("num_return_sequences")
def serve(folder, port, open_browser, **options):
    """Show a model in a local web page.

    The page translates as you type with the model folder or serving kit in DIR, and shows other
    translations and the model's attention. It is for looking at a model on this machine, not for
    production: `aiayn-keras export saved-model` writes a kit for TensorFlow Serving.
    """
    with quiet_start():
        from aiayn_keras.serving.local_page import Application, find_version, listen, open_server

    version = find_version(folder)
    if version is None:
        _check_model_folder(folder)
    elif any(map(is_given, options)):
        raise click.UsageError("The search of a serving kit was fixed when it was exported.")
    with listen(port) as listener:
        port = listener.getsockname()[1]
        click.echo(f"Loading {folder} ...", err=True)
        if version is None:
            translator, facts = _open_model_folder(folder, options)
        else:
            translator, facts = _open_kit(folder, version)
        with open_server(Application(translator, facts, port), listener) as server:
            url = f"http://127.0.0.1:{port}/"
            click.echo(f"{facts.name}: {url} (Ctrl-C ends it)")
            click.echo(f"For looking, not for production. To deploy: {facts.deploy}")
            if open_browser:
                click.launch(url)
            server.run()


def _check_model_folder(folder):
    try:
        check_model_folder(folder)
    except FileNotFoundError as error:
        kit = "Nor is it a serving kit, in which a version has a saved_model.pb."
        raise FileNotFoundError(f"{error} {kit}" if folder.exists() else error) from error


def _open_model_folder(folder, options):
    """The `FolderTranslator` of a model folder, and what the page says of it."""
    with quiet_start():
        from aiayn_keras.serving.local_page import FolderTranslator, PageFacts
        from aiayn_keras.training import load_recipe

    translator = FolderTranslator(load_model(folder), **options)
    translator.warm_up()  # so that the first keystroke need not wait for the compilation
    recipe = folder / "recipe.yaml"
    corpus = load_recipe(recipe).corpus.model_dump() if recipe.exists() else {}
    facts = PageFacts(
        name=folder.resolve().name,
        languages=_languages(corpus),
        deploy=f"aiayn-keras export saved-model {shlex.quote(str(folder))} --output models",
        most_hypotheses=translator.most_hypotheses,
        explores_any=translator.explores_any,
        shows_steps=translator.shows_steps,
    )
    return translator, facts


def _open_kit(folder, version):
    """The `KitTranslator` of a kit's version, and what the page says of it."""
    with quiet_start():
        from aiayn_keras.serving.local_page import KitTranslator, PageFacts

        translator = KitTranslator(version)
    kit = folder if folder != version else version.resolve().parent
    # The export writes the recipe's corpus as `name demo, train_size 60000`.
    data = translator.notes.card.get("data", "")
    corpus = dict(part.split(" ", 1) for part in data.split(", ") if " " in part)
    facts = PageFacts(
        name=f"{kit.resolve().name}/{version.resolve().name}",
        languages=_languages(corpus),
        deploy=f"see {kit / 'README.md'}",
        most_hypotheses=translator.most_hypotheses,
        explores_any=translator.explores_any,
        shows_steps=translator.shows_steps,
    )
    return translator, facts


def _languages(corpus):
    """Language codes of source and target of a recipe's corpus, or None if it does not say."""
    with quiet_start():  # Grain warns where JAX is not installed.
        from aiayn_keras.data.corpora import LANGUAGES

    languages = (corpus.get("source_language"), corpus.get("target_language"))
    return languages if all(languages) else LANGUAGES.get(corpus.get("name"))
