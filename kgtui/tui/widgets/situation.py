"""What stands where the tree would be when there is nothing to draw: why, and what to try next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from kgtui.tui import text

if TYPE_CHECKING:
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import Target

Said = list[tuple[str, str]]
"""Paragraphs: `(words, role)`; the words are harmless."""


class Situation(Static):
    """Paragraphs in the roles' colours; takes no room when there is something to draw."""

    DEFAULT_CSS = """
    Situation { height: 1fr; padding: 1 2; display: none; }
    Situation.-said { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._said: Said | None = None

    def say(self, said: Said | None) -> bool:
        """Say this, or nothing; tells whether there is something to say."""
        if said != self._said:
            self._said = said
            self.set_class(said is not None, "-said")
            parts = [(f"{words}\n", f"${role}" if role else "") for words, role in said or []]
            self.update(Content.assemble(*parts))
        return said is not None


def situation(snapshot: Snapshot, target: Target, *, filtered_out: bool, interval: float) -> Said | None:
    """Why there is nothing to draw; None when there is."""
    if snapshot.groups:
        return _filtered_out(snapshot) if filtered_out else None
    answered = [status for status in snapshot.brokers.values() if status.answered_at is not None]
    failed = [status.fault for status in snapshot.brokers.values() if status.fault is not None]
    forbidden = next((f for f in (*snapshot.faults, *failed) if f.name.endswith("AUTHORIZATION_FAILED")), None)
    if forbidden is not None:
        return _forbidden(forbidden.message)
    if answered and all(status.groups is not None for status in answered):
        return _no_groups(len(answered), len(snapshot.brokers))
    if snapshot.faults or failed:
        return _unreachable(snapshot, target, interval)
    where = text.plain(target.bootstrap or target.name, 60)
    if snapshot.brokers:
        return [(f"Asking {len(snapshot.brokers)} brokers for their groups{text.marks().ellipsis}", "kg-muted")]
    return [(f"Connecting to {where}{text.marks().ellipsis}", "kg-muted")]


def _filtered_out(snapshot: Snapshot) -> Said:
    count = len(snapshot.groups)
    return [
        (f"No group matches. The cluster has {text.exact(count)}.", ""),
        ("esc takes the filter away, / changes it, ? lists its terms.", "kg-muted"),
    ]


def _forbidden(message: str) -> Said:
    return [
        ("This user may not list groups.", "kg-error"),
        (text.plain(" ".join(message.split())), ""),
        ("", ""),
        ("What to ask for: the ACL operation DESCRIBE on Cluster shows every group;", ""),
        ("DESCRIBE on a Group (a literal name, or a prefix) shows those.", ""),
        ("kafka-acls.sh --add --allow-principal User:NAME --operation Describe --cluster", "kg-accent"),
    ]


def _no_groups(answered: int, brokers: int) -> Said:
    some = "The broker answers" if answered == 1 else f"{answered} of {brokers} brokers answer"
    return [
        (f"{some}, and there is no group that this user may see.", ""),
        ("", ""),
        ("A group appears here as soon as a member joins or an offset is committed.", "kg-muted"),
        ("Brokers leave out what a user may not see and do not say so: if groups are expected here,", "kg-muted"),
        ("ask for the ACL operation DESCRIBE on Cluster, or on these Groups.", "kg-muted"),
    ]


def _unreachable(snapshot: Snapshot, target: Target, interval: float) -> Said:
    marks = text.marks()
    said: Said = [(f"No broker of {text.plain(target.name, 40)} answers.", "kg-error"), ("", ""), ("Tried:", "")]
    tried = [(status.address, status.fault) for status in snapshot.brokers.values() if status.fault]
    lines = [f"{text.plain(address, 40)}  {_words(fault.message or fault.name)}" for address, fault in tried]
    lines += [_words(fault.message or fault.name) for fault in snapshot.faults]
    said += [(f"  {marks.fault} {line}", "kg-warn") for line in dict.fromkeys(lines)]
    advice = dict.fromkeys(fault.advice for fault in (*(f for _, f in tried), *snapshot.faults) if fault.advice)
    said += [("", ""), ("What to look at:", "")]
    said += [(f"  {marks.arrow} {_words(words)}", "") for words in advice]
    said += [
        (f"  {marks.arrow} the address and port, and whether a listener for this network is advertised", ""),
        (f"  {marks.arrow} security.protocol in --command-config, if the listener wants TLS or SASL", ""),
        ("", ""),
        (f"Trying again every {interval:g} s or less often; the screen fills by itself once a broker answers.",
         "kg-muted"),
    ]  # fmt: skip
    return said


def _words(message: str) -> str:
    return text.plain(" ".join(message.split()), 300)
