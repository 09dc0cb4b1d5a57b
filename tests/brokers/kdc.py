"""Run a Kerberos key distribution center (KDC) on this machine; create principals, keytabs and ticket caches."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.brokers.config import HOST, free_ports

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REALM = "KGTUI.TEST"

SERVICE = "kafka"

START_TIMEOUT = 30.0
"""Maximum time until the KDC accepts connections, in seconds."""

_MORE_FOLDERS = ("/usr/sbin", "/sbin", "/usr/local/sbin", "/opt/homebrew/opt/krb5/bin", "/opt/homebrew/opt/krb5/sbin")
"""Folders that often contain Kerberos programs, but are not in PATH. `tests/run` has the same list."""

_STOP_WITH_PARENT = '"$@" & trap "kill $!" EXIT; read -r line'
"""Shell command that runs a program, and kills the program when the shell's standard input is closed.

The test process closes this input to stop the program. When the test process exits, the input is closed as well.
"""


class Kdc:
    """A KDC for the realm `REALM`, which runs from `start` to `stop`.

    Attributes:
        config: path of `krb5.conf` for clients.
        broker: principal of local brokers, without the realm.
        broker_keytab: path of the keytab of `broker`.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (self._port,) = free_ports(1)
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.config = self.write_config("krb5.conf", self._port)
        self.broker = f"{SERVICE}/{socket.getnameinfo((HOST, 0), socket.NI_NAMEREQD)[0]}"
        self.broker_keytab = self._keytab(self.broker)
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\nkdc_listen = {HOST}:{self._port}\nkdc_tcp_listen = {HOST}:{self._port}\n"
            f"[realms]\n{REALM} = {{\n database_name = {folder}/principals\n key_stash_file = {folder}/stash\n"
            " max_renewable_life = 1d\n}\n"
            f"[logging]\nkdc = FILE:{folder}/kdc.log\n",
            encoding="utf-8",
        )

    @property
    def environment(self) -> dict[str, str]:
        """All environment variables for programs that use Kerberos: those of this process, and those in `variables`."""
        return {**os.environ, **self.variables}

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables with the paths of `krb5.conf`, of `kdc.conf`, and of the default ticket cache."""
        return {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(self._folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{self._folder}/default.cache",
        }

    def write_config(self, name: str, port: int) -> Path:
        """Write a `krb5.conf` with the realm `REALM`, whose KDC listens on `port`; return the path of the file."""
        path = self._folder / name
        path.write_text(
            # DNS is turned off, so that the tests do not depend on this machine's DNS server.
            f"[libdefaults]\ndefault_realm = {REALM}\ndns_lookup_realm = false\ndns_lookup_kdc = false\n"
            f"dns_canonicalize_hostname = false\nrdns = false\nudp_preference_limit = 1\n"
            f"[realms]\n{REALM} = {{\n kdc = {HOST}:{port}\n}}\n",
            encoding="utf-8",
        )
        return path

    def start(self) -> None:
        """Create the realm's database and the principal of the brokers, and start the KDC."""
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self._admin("modprinc", "-maxrenewlife", "1 day", f"krbtgt/{REALM}")
        self.add(self.broker)
        command = ["sh", "-c", _STOP_WITH_PARENT, "sh", _program("krb5kdc"), "-n", "-r", REALM]
        with (self._folder / "kdc.out").open("wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=output, env=self.environment
            )
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            with suppress(OSError), socket.create_connection((HOST, self._port), timeout=1):
                return
            if self._process.poll() is not None or time.monotonic() > deadline:
                said = (self._folder / "kdc.out").read_text() + (self._folder / "kdc.log").read_text()
                self.stop()
                raise RuntimeError(f"the KDC does not accept connections: {said}")
            time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(10)

    def add(self, principal: str, *options: str) -> Path:
        """Create a principal with random keys, and return the path of its keytab.

        Args:
            principal: name without the realm.
            options: options of the `kadmin.local` command `addprinc`, such as `-maxlife` and `3 seconds`.
        """
        keytab = self._keytab(principal)
        self._admin("addprinc", *options, "-randkey", principal)
        self._admin("ktadd", "-k", str(keytab), principal)
        return keytab

    def change_key(self, principal: str) -> None:
        """Give a principal new random keys. The keys in the principal's keytab become invalid."""
        self._admin("cpw", "-randkey", "-keepold", principal)
        self._admin("purgekeys", principal)

    def delete(self, principal: str) -> None:
        """Delete a principal from the KDC, but keep the principal's keytab file."""
        self._admin("delprinc", "-force", principal)

    def ticket_cache(self, principal: str, *options: str) -> Path:
        """Get a ticket with `kinit` and the principal's keytab; return the path of the new ticket cache.

        `options` are options of `kinit`, such as `-l` and `1s` for a lifetime of one second.
        """
        cache = self._folder / f"{principal}{''.join(options).replace(' ', '')}.cache"
        self._run("kinit", *options, "-c", f"FILE:{cache}", "-k", "-t", str(self._keytab(principal)), principal)
        return cache

    def keys(self, keytab: Path) -> list[bytes]:
        """Return all keys in a keytab."""
        listed = self._run("klist", "-k", "-K", str(keytab))
        return [bytes.fromhex(key) for key in re.findall(r"\(0x([0-9a-f]+)\)", listed)]

    def other_realm_keytab(self) -> Path:
        """Create a keytab with a key of the principal `ada@OTHER.REALM`, whose realm has no KDC; return its path."""
        keytab = self._folder / "other.keytab"
        commands = f"addent -password -p ada@OTHER.REALM -k 1 -e aes256-cts\nsecret\nwkt {keytab}\n"
        self._run("ktutil", text=commands)
        return keytab

    def _keytab(self, principal: str) -> Path:
        return self._folder / f"{principal.replace('/', '-')}.keytab"

    def _admin(self, *arguments: str) -> None:
        self._run("kadmin.local", "-r", REALM, *arguments)

    def _run(self, program: str, *arguments: str, text: str = "") -> str:
        """Run a program of MIT Kerberos, and return what it prints to standard output."""
        command = [_program(program), *arguments]
        done = subprocess.run(
            command, env=self.environment, input=text, capture_output=True, text=True, timeout=60, check=False
        )
        # kadmin.local exits with 0 even after some errors, so its output on standard error is checked as well.
        if done.returncode != 0 or f"{program}: " in done.stderr.replace("kadmin.local: \n", ""):
            raise RuntimeError(f"{program} {' '.join(arguments)}: {done.stderr}{done.stdout}")
        return done.stdout


def jaas(**options: str) -> str:
    """Return a value of `sasl.jaas.config`: the Kerberos login module of OpenJDK with the options `options`."""
    text = " ".join(f'{name}="{value}"' for name, value in options.items())
    return f"com.sun.security.auth.module.Krb5LoginModule required {text};"


def with_keytab(principal: str, keytab: Path) -> dict[str, str]:
    """Return client properties that log in as `principal` with a keytab."""
    options = {"useKeyTab": "true", "storeKey": "true", "keyTab": str(keytab), "principal": principal}
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": SERVICE,
        "sasl.jaas.config": jaas(**options),
    }


def with_cache(cache: Path | str = "", **options: str) -> dict[str, str]:
    """Return client properties for a Kerberos login with the ticket in the file `cache`.

    If `cache` is empty, the ticket is in the default ticket cache. `options` are more options of the login module.
    """
    if cache:
        options["ticketCache"] = str(cache)
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.jaas.config": jaas(useTicketCache="true", serviceName=SERVICE, **options),
    }


def _program(name: str) -> str:
    """Return the path of a program of MIT Kerberos. Raise RuntimeError if the program is not installed."""
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *_MORE_FOLDERS]))
    if path is None:
        raise RuntimeError(
            f"{name} of MIT Kerberos is not installed: run tests/run --setup, or install krb5-kdc, krb5-admin-server "
            "and krb5-user (Debian), krb5-server and krb5-workstation (RHEL), krb5-server and krb5 (Alpine), or krb5 "
            "(Homebrew)"
        )
    return path
