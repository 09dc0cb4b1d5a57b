"""Tests of the thread that reads keys, pastes and mouse events from the terminal. Bad input must not end the thread."""

from __future__ import annotations

import codecs
import locale
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from textual import events
from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver

from kgtui.tui.textual_compat.terminal_driver import input_decoder, with_workarounds

if TYPE_CHECKING:
    from textual.message import Message


def messages_for(*typed: bytes, driver_class: type[Any] | None = None) -> list[Message]:
    """Send `typed` and the key `q` to the input thread of a Textual driver. Return the messages that the thread posts.

    `driver_class` is by default Textual's driver with the workarounds of kgtui.
    """
    readable, writable = os.pipe()
    driver: Any = object.__new__(driver_class or with_workarounds(LinuxDriver))
    driver.fileno, driver._debug, driver.exit_event = readable, False, threading.Event()
    received: list[Message] = []

    def receive(message: Message) -> None:
        received.append(message)
        if isinstance(message, events.Key) and message.key == "q":
            driver.exit_event.set()

    driver.process_message = receive
    thread = threading.Thread(target=driver.run_input_thread)
    try:
        thread.start()
        for chunk in typed:
            os.write(writable, chunk)
        # The key `q` ends the input thread. The first `q` can become part of an unfinished escape sequence or paste, so
        # the test sends `q` repeatedly.
        for _ in range(100):
            os.write(writable, b"\x1b[201~q")
            thread.join(0.05)
            if not thread.is_alive():
                return received
        raise AssertionError("the input thread does not read any more")
    finally:
        os.close(writable)
        driver.exit_event.set()
        thread.join()
        os.close(readable)


def characters(messages: list[Message]) -> list[str | None]:
    return [message.character for message in messages if isinstance(message, events.Key)]


def test_terminal_input_bytes_that_are_not_utf8_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locale, "getencoding", lambda: "UTF-8")
    assert characters(messages_for(b"a\xe9b\xff", "ü".encode())) == ["a", "b", "ü", "q"]


def test_terminal_input_is_decoded_with_the_encoding_of_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locale, "getencoding", lambda: "ISO-8859-1")
    assert characters(messages_for(b"a\xe9b")) == ["a", "é", "b", "q"]


def test_terminal_input_is_decoded_as_utf8_if_the_locale_is_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locale, "getencoding", lambda: "ANSI_X3.4-1968")
    assert input_decoder("utf-8")().decode("ü".encode()) == "ü"


sequences = st.sampled_from(
    [b"\x1b", b"\x1b[", b"\x1b[<", b"\x1b[200~", b"\x1b[M", b"\x1b]0;", b"\x1bO", b"\x1b[?2026;"]
)
numbers = st.integers(-(10**6), 10**12).map(lambda number: str(number).encode())
ends = st.sampled_from([b";", b"u", b"~", b"M", b"m", b"R", b"$y", b"t", b":", b"\x07"])


@given(st.lists(st.one_of(sequences, numbers, ends, st.binary(max_size=8)), max_size=12))
@example([b"\x1b[", b"99999999999", b"u"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_input_thread_still_reads_the_key_q_after_arbitrary_bytes(typed: list[bytes]) -> None:
    messages_for(b"".join(typed))


def test_input_thread_of_unpatched_textual_ends_at_an_invalid_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """This test fails as soon as Textual ignores invalid bytes. The workaround `input_decoder` is then not needed."""
    monkeypatch.setattr(linux_driver, "getincrementaldecoder", codecs.getincrementaldecoder)
    readable, writable = os.pipe()
    driver = object.__new__(LinuxDriver)
    driver.fileno, driver._debug, driver.exit_event = readable, False, threading.Event()
    os.write(writable, b"\xff")
    try:
        with pytest.raises(UnicodeDecodeError):
            driver.run_input_thread()
    finally:
        os.close(readable)
        os.close(writable)


PASTE = b"\x1b[200~ERROR \x1b[31mpay\x1b[0m q\x1b\x1b[201~"
"""A bracketed paste with text in color, as a terminal sends it."""


@pytest.mark.parametrize("length", [1, 3, 7, len(PASTE)])
def test_escape_sequences_in_pasted_text_are_removed(length: int) -> None:
    """The paste reaches the decoder in pieces, because terminal input can arrive in pieces of any length."""
    decode = input_decoder("utf-8")().decode
    pieces = [PASTE[start : start + length] for start in range(0, len(PASTE), length)]
    text = "".join(decode(piece) for piece in pieces) + decode(b"", final=True)
    assert text == "\x1b[200~ERROR pay q\x1b[201~"
    assert decode(b"\x1b[31m\x1b") == "\x1b[31m\x1b"


def test_pasted_text_with_escape_sequences_causes_no_key_presses() -> None:
    messages = messages_for(PASTE)
    assert [message.text for message in messages if isinstance(message, events.Paste)] == ["ERROR pay q"]
    assert characters(messages) == ["q"]  # The key `q` ends the input thread.


def test_unpatched_textual_handles_pasted_text_after_an_escape_sequence_as_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This test fails as soon as Textual treats all pasted text as part of the paste.

    The workaround `_PasteCleaner` is then no longer needed.
    """
    monkeypatch.setattr(linux_driver, "getincrementaldecoder", codecs.getincrementaldecoder)
    assert "q" in characters(messages_for(PASTE, driver_class=LinuxDriver))[:-1]
