"""Lists the design notes in the site's navigation, so that a new one needs no line there."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    docs = Path(config.docs_dir)
    notes = sorted(path.relative_to(docs).as_posix() for path in docs.glob("design/*.md"))
    config.nav = [*(config.nav or []), {"Design": notes}]
    return config
