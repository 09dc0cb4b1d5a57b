"""`kgtui clusters`: list the configured clusters. Values of client properties are omitted, as they may be secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.commands.printing import notify, print_result
from kgtui.config import load
from kgtui.output import formats, marks
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    import argparse

    from kgtui.config import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui clusters`."""
    from kgtui.commands.parser import add_format_option

    add_format_option(parser, "table", "json")


def run(args: argparse.Namespace) -> int:
    """Run `kgtui clusters` and return its exit code."""
    settings = load()
    if settings.clusters or args.format == "json":
        print_result(args.format, {"table": as_text, "json": as_json}, settings)
    else:
        notify(f'no cluster is configured; add [clusters.NAME] with bootstrap = "host:port" to {settings.path}')
    return 0


def as_text(settings: Settings) -> str:
    """Format the clusters as a table. A star marks the default cluster."""
    columns = [
        Column(title) for title in ("CLUSTER", "DEFAULT", "BOOTSTRAP", "ENVIRONMENT", "WRITES", "COMMAND-CONFIG")
    ]
    return table(
        columns,
        [
            (
                name,
                "*" if name == settings.default else "",
                marks.text(cluster.address),
                marks.text(cluster.environment),
                "no" if cluster.read_only else "yes",
                marks.text(cluster.command_config),
            )
            for name, cluster in sorted(settings.clusters.items())
        ],
    )


def as_json(settings: Settings) -> bytes:
    """Encode the clusters as JSON. Client properties are listed without values, because values may be secrets."""
    clusters: list[dict[str, Any]] = [
        {
            "name": name,
            "default": name == settings.default,
            "bootstrap": [part.strip() for part in cluster.address.split(",") if part.strip()],
            "command_config": cluster.command_config or None,
            "read_only": cluster.read_only,
            "color": cluster.color or None,
            "colour": cluster.color or None,  # Former name of `color`, for old scripts of users.
            "environment": cluster.environment or None,
            "properties": sorted(cluster.properties),
        }
        for name, cluster in sorted(settings.clusters.items())
    ]
    return formats.json_bytes({"version": formats.VERSION, "config": str(settings.path), "clusters": clusters})
