"""Tests that kgtui handles the client properties of Kafka's Java clients as Kafka 4.3.1 does."""

from __future__ import annotations

import base64
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from kgtui.client.client_settings import from_properties
from kgtui.client.properties import parse_jaas
from kgtui.config.properties import filled_in
from kgtui.errors import ConfigError
from tests import jars, java

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = r"""
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;

public class Ask {
    static String b64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    static String decoded(String line) {
        return new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8);
    }

    public static void main(String[] lines) {
        var names = new TreeSet<String>(AdminClientConfig.configNames());
        names.addAll(ConsumerConfig.configNames());
        names.addAll(ProducerConfig.configNames());
        for (String name : names) System.out.println("name " + name);
        for (String line : lines) {
            if (line.startsWith("@")) {
                var properties = new HashMap<String, Object>();
                for (String property : decoded(line.substring(1)).split("\n"))
                    properties.put(property.split("=", 2)[0], property.split("=", 2)[1]);
                String clientId = new AdminClientConfig(properties).getString("client.id");
                System.out.println("reference " + line + " " + b64(clientId));
                continue;
            }
            String text = decoded(line);
            StringBuilder out = new StringBuilder("jaas " + line);
            try {
                var entry = JaasContext.loadClientContext(Map.of("sasl.jaas.config", new Password(text)))
                    .configurationEntries().get(0);
                out.append(" ok ").append(b64(entry.getLoginModuleName()));
                for (var option : new TreeMap<String, Object>(entry.getOptions()).entrySet())
                    out.append(" ").append(b64(option.getKey())).append("=").append(b64(option.getValue().toString()));
            } catch (Exception error) {
                out.append(" refused");
            }
            System.out.println(out);
        }
    }
}
"""

LINES = [
    'a.PlainLoginModule required username="alice" password="hunter2";',
    "a.PlainLoginModule required username='alice' password='hun\"ter2';",
    'a.PlainLoginModule required\n  username="alice"\n  password="a \\"quoted\\" word";',
    r'a.PlainLoginModule required username="back\\slash" password="tab\tnew\nline\101\7\1012\x\;";',
    "a.PlainLoginModule required username=alice password=bare-word.with_$;",
    'a.PlainLoginModule REQUIRED username="" password="//no comment";  // a comment',
    'a.PlainLoginModule optional /* a comment; */ username="u" password="p=;";',
    'a.PlainLoginModule required username = "spaced" password= "too" ;',
    'a.PlainLoginModule required username="\N{SNOWMAN}" password="\N{LATIN SMALL LETTER A WITH DIAERESIS}";',
    "a.PlainLoginModule required;",
    'a.PlainLoginModule required username="u" password="p"',
    'a.PlainLoginModule required username="u" password "p";',
    'a.PlainLoginModule required username="u" password=;',
    'a.PlainLoginModule required username="u" password=123;',
    'a.PlainLoginModule username="u" password="p";',
    "a.PlainLoginModule",
    "",
    'a.A required x="1"; b.B required y="2";',
]

REFERENCES = [
    "${file:FOLDER/s.properties:pass.word} ${file:FOLDER/s.properties:latin}",
    "${env:KGTUI_TEST_PASS}${env:KGTUI_TEST_PASS}",
    "${dir:FOLDER:word}",
    "${vault:a:b} ${KGTUI_TEST_PASS} $x ${a} file:FOLDER/word",
    "a${env:KGTUI_TEST_PASS",
]


def with_providers(text: str, folder: Path) -> dict[str, str]:
    """Return client properties with Kafka's config providers and the client id `text`.

    `text` contains references to config providers, such as `${env:NAME}`. The word FOLDER in `text` stands for the path
    `folder`.
    """
    package = "org.apache.kafka.common.config.provider"
    return {
        "bootstrap.servers": "localhost:1",
        "config.providers": "file,env,dir",
        "config.providers.file.class": f"{package}.FileConfigProvider",
        "config.providers.env.class": f"{package}.EnvVarConfigProvider",
        "config.providers.dir.class": f"{package}.DirectoryConfigProvider",
        "client.id": text.replace("FOLDER", str(folder)),
    }


def java_argument(properties: dict[str, str]) -> str:
    return "@" + encoded("\n".join(f"{key}={text}" for key, text in properties.items()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create the files that the references in `REFERENCES` name, such as `${dir:FOLDER:word}`; return their folder."""
    folder: Path = tmp_path_factory.mktemp("providers")
    (folder / "s.properties").write_text("pass.word = a\\tb\nlatin=\N{SNOWMAN}\n", encoding="utf-8")
    (folder / "word").write_text("with newline\n")
    return folder


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def decoded(text: str) -> str:
    return base64.b64decode(text).decode()


@pytest.fixture(scope="module")
def kafka_says(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> list[list[str]]:
    """Run a Java program that parses properties with Kafka's classes; return the printed lines, split into words."""
    source: Path = tmp_path_factory.mktemp("ask") / "Ask.java"
    source.write_text(PROGRAM)
    command = [*java.command(jars.classpath("4.3.1"), source), *map(encoded, LINES)]
    command += [java_argument(with_providers(text, folder)) for text in REFERENCES]
    environment = {**os.environ, "KGTUI_TEST_PASS": "hunter2"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env=environment)
    return [line.split(" ") for line in done.stdout.splitlines()]


def test_every_property_of_kafka_clients_is_recognized(kafka_says: list[list[str]]) -> None:
    """kgtui uses, ignores or rejects each property of Kafka's clients, but reports none of them as unknown."""
    names = {words[1] for words in kafka_says if words[0] == "name"}
    assert len(names) > 120
    refused = set()
    for name in names:
        try:
            assert from_properties({name: "PLAINTEXT" if name == "security.protocol" else "100"}).warnings == ()
        except ConfigError as error:
            refused.add(str(error).partition(" is not supported")[0])
    assert refused == {
        "bootstrap.controllers",
        "config.providers",
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "security.providers",
        "ssl.cipher.suites",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.trustmanager.algorithm",
    }


@pytest.mark.parametrize("line", LINES)
def test_kgtui_parses_jaas_configurations_as_kafka_does(kafka_says: list[list[str]], line: str) -> None:
    (theirs,) = [words[2:] for words in kafka_says if words[0] == "jaas" and words[1] == encoded(line)]
    if theirs == ["refused"]:
        with pytest.raises(ConfigError):
            parse_jaas(line)
        return
    ours = parse_jaas(line)
    options = [
        f"{encoded(name)}={encoded(str.__str__(value.reveal()))}" for name, value in sorted(ours.options.items())
    ]
    assert ["ok", encoded(ours.name), *options] == theirs


@pytest.mark.parametrize("text", REFERENCES)
def test_kgtui_resolves_config_provider_references_as_kafka_does(
    kafka_says: list[list[str]], folder: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGTUI_TEST_PASS", "hunter2")
    properties = with_providers(text, folder)
    (theirs,) = [words[2] for words in kafka_says if words[:2] == ["reference", java_argument(properties)]]
    assert filled_in(properties, "x", folder)["client.id"] == decoded(theirs)
