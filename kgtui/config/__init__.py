"""Read the settings from `config.toml`, the environment and Java properties files, and choose the cluster.

The section "Configuration" of the README has an example with every key, and the list of environment variables.

In Java properties, `${NAME}` normally stands for an environment variable, and `file:PATH` for the content of a file.
But if the properties declare Kafka's config providers (`config.providers`), kgtui replaces only references to these
providers, such as `${file:PATH:KEY}`.

Of the other parts of kgtui, this package imports only `errors`, `model` and `private_files`. It imports msgspec,
javaproperties and platformdirs only when they are needed.

| module | contents |
|---|---|
| `settings` | reads `config.toml`, and rejects unknown keys and invalid values |
| `target` | chooses the cluster, and checks bootstrap addresses |
| `properties` | reads Java properties files; resolves `${NAME}` and `file:PATH` |
| `providers` | resolves references to Kafka's config providers, such as `${file:PATH:KEY}` |
| `state_folder` | paths of backups, the audit log, recordings, exports and logs |
| `crash` | writes crash reports, without values of local variables and options |
"""

from __future__ import annotations

from kgtui.config.properties import Properties, read_properties
from kgtui.config.settings import ClusterSettings, Settings, UiSettings, config_dir, load, storage_options
from kgtui.config.state_folder import StateFolder, state_folder
from kgtui.config.target import ASSUMED, Target, named, parse_bootstrap, protected, resolve

__all__ = [
    "ASSUMED",
    "ClusterSettings",
    "Properties",
    "Settings",
    "StateFolder",
    "Target",
    "UiSettings",
    "config_dir",
    "load",
    "named",
    "parse_bootstrap",
    "protected",
    "read_properties",
    "resolve",
    "state_folder",
    "storage_options",
]
