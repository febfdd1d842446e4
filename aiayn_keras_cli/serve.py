"""`aiayn-keras serve`: a model in a local web page."""

import shlex

import click

from aiayn_keras_cli.options import (
    CHECKPOINT,
    ENGINE,
    LocalPath,
    asked_checkpoint,
    chosen_checkpoint,
    is_given,
    is_usable_unfinished,
    load_model,
    report_engine,
    require_model_folder,
    search_options,
)
from aiayn_keras_cli.running import quiet_start


@click.command()
@click.argument("folder", metavar="DIR", type=LocalPath())
@click.option(
    "--port",
    type=click.IntRange(min=0, max=65535),
    default=8000,
    show_default=True,
    help="Port on this machine; other machines cannot reach it. 0 for any free port.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the web browser.")
@click.option(
    "--trust",
    is_flag=True,
    help="Load a kit whatever its graph may do. A kit is a program that runs with your rights; by "
    "default it may only have operations that exports of this package have.",
)
@CHECKPOINT
@ENGINE
@search_options("num_return_sequences")
def serve(folder, port, open_browser, trust, **options):
    """Show a model in a local web page.

    DIR is a model folder, a training or a serving kit. The page translates as you type, and shows
    alternative translations and the model's attention. It is for exploring a model on this machine,
    not for production: `aiayn-keras export saved-model` writes a kit for TensorFlow Serving.

    A serving kit is a program. One that may do more than translate is refused without --trust.
    """
    with quiet_start():
        from aiayn_keras.serving.local_page import Application, find_version, listen, open_server

    version = find_version(folder)
    if version is None:
        _require_model_folder(folder)
        if trust:
            raise click.UsageError("--trust is for a serving kit; a model folder is not a program.")
    elif asked_checkpoint() is not None:
        raise click.UsageError("--checkpoint is for the folder of a training, not for a kit.")
    elif any(map(is_given, options)):
        raise click.UsageError(
            "A serving kit's engine and search options were fixed when it was exported: omit them."
        )
    with listen(port) as listener:
        port = listener.getsockname()[1]
        click.echo(f"Loading {folder} ...", err=True)
        if version is None:
            translator, facts = _open_model_folder(folder, options)
        else:
            translator, facts = _open_kit(folder, version, trust)
        with open_server(Application(translator, facts, port), listener) as server:
            url = f"http://127.0.0.1:{port}/"
            click.echo(f"{facts.name}: {url} (Ctrl-C ends it)")
            click.echo(f"For exploring, not for production. To deploy: {facts.deploy}")
            if open_browser:
                click.launch(url)
            server.run()


def _require_model_folder(folder):
    if is_usable_unfinished(folder):
        return
    try:
        require_model_folder(folder)
    except FileNotFoundError as error:
        kit = "It is not a serving kit either: no version has a saved_model.pb."
        raise FileNotFoundError(f"{error} {kit}" if folder.exists() else error) from error


def _open_model_folder(folder, options):
    """Loads the `FolderTranslator` of a model folder, and the facts that the page shows."""
    with quiet_start():
        from aiayn_keras.serving.local_page import FolderTranslator, PageFacts
        from aiayn_keras.training import load_recipe

    model = load_model(folder)
    report_engine(model, [], **options)
    translator = FolderTranslator(model, **options)
    translator.warm_up()  # so that the first keystroke does not wait for compilation
    recipe = folder / "recipe.yaml"
    corpus = load_recipe(recipe).corpus.model_dump() if recipe.exists() else {}
    deploy = f"aiayn-keras export saved-model {shlex.quote(str(folder))} --output models"
    if (checkpoint := chosen_checkpoint(folder)) is not None:
        deploy += f" --checkpoint {checkpoint}"
    facts = PageFacts(
        name=folder.resolve().name,
        languages=_languages(corpus),
        deploy=deploy,
        max_hypotheses=translator.max_hypotheses,
        explores_any=translator.explores_any,
        shows_steps=translator.shows_steps,
        takes_documents=translator.takes_documents,
    )
    return translator, facts


def _open_kit(folder, version, trust):
    """Loads the `KitTranslator` of a kit's version, and the facts that the page shows."""
    with quiet_start():
        from aiayn_keras.serving.local_page import KitTranslator, PageFacts

        translator = KitTranslator(version, trust)
    kit = folder if folder != version else version.resolve().parent
    # The export writes the recipe's corpus like this: `name demo, train_size 60000`.
    data = translator.notes.card.get("data", "")
    corpus = dict(part.split(" ", 1) for part in data.split(", ") if " " in part)
    facts = PageFacts(
        name=f"{kit.resolve().name}/{version.resolve().name}",
        languages=_languages(corpus),
        deploy=f"see {kit / 'README.md'}",
        max_hypotheses=translator.max_hypotheses,
        explores_any=translator.explores_any,
        shows_steps=translator.shows_steps,
        takes_documents=translator.takes_documents,
    )
    return translator, facts


def _languages(corpus):
    """Gives the language codes of a recipe's corpus, source and target; None if it has none."""
    with quiet_start():  # Grain warns where JAX is not installed.
        from aiayn_keras.data.corpora import LANGUAGES

    languages = (corpus.get("source_language"), corpus.get("target_language"))
    return languages if all(languages) else LANGUAGES.get(corpus.get("name"))
