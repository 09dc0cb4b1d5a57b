"""Makes the encoder of one version of a message: Python source from its table, compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from struct import Struct as Packing
from struct import error
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from uuid import UUID

from kgtui.errors import EncodeError
from kgtui.protocol import wire
from kgtui.protocol.source import Source
from kgtui.protocol.table import FIXED

if TYPE_CHECKING:
    from kgtui.protocol.table import Field, Struct

Encode: TypeAlias = Callable[[Mapping[str, Any]], bytes]


def compile_struct(struct: Struct, version: int, *, flexible: bool) -> Encode:
    """Make the function that encodes a mapping as `version` of a message."""
    return cast("Encode", _Encoder(struct.name, version, flexible=flexible).compile(struct))


def default_of(field: Field, empty: Sequence[object] = ()) -> object:
    """What a missing field is written as: structs as mappings, arrays as `empty`."""
    if field.null_by_default:
        return None
    if field.array:
        return empty
    if field.struct is not None:
        return {inner.name: default_of(inner, empty) for inner in field.struct.fields}
    return field.default


class _Encoder:
    """Writes the source of one encoder; `out`, a bytearray, is its local variable."""

    def __init__(self, what: str, version: int, *, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.out = Source(
            {
                "uvarint_bytes": wire.uvarint_bytes,
                "cannot_be_null": wire.cannot_be_null,
                "string_too_long": wire.string_too_long,
                "not_in_version": wire.not_in_version,
                "unknown_fields": wire.unknown_fields,
                "tag_section": wire.tag_section,
                "Packing": Packing,
                "StructError": error,
                "EncodeError": EncodeError,
                "UUID": UUID,
                "WHAT": f"{what} v{version}",
            }
        )

    def compile(self, struct: Struct) -> object:
        out = self.out
        out.line("def encode(value):")
        with out.block():
            out.line("out = bytearray()")
            out.line("try:")
            with out.block():
                self.struct(struct, "value")
            out.line("except (StructError, TypeError, AttributeError, ValueError) as err:")
            with out.block():
                out.line("raise EncodeError(f'{WHAT}: {err}') from err")
            out.line("return bytes(out)")
        return out.compile("encode", f"<{struct.name} v{self.version} encoder>")

    def struct(self, struct: Struct, value: str) -> None:
        """Write the struct that is in the variable `value`."""
        out = self.out
        names = out.constant("NAMES", frozenset(f.name for f in struct.fields))
        out.line(f"if not {value}.keys() <= {names}:")
        with out.block():
            out.line(f"raise unknown_fields({struct.name!r}, sorted({value}.keys() - {names}))")
        self.refuse_absent(struct, value)
        run: list[Field] = []
        for field in struct.untagged(self.version):
            if field.kind in FIXED and not field.array:
                run.append(field)
                continue
            self.fixed(run, value)
            run = []
            self.value(field, self.get(field, value))
        self.fixed(run, value)
        if self.flexible:
            self.tags(struct, value)

    def refuse_absent(self, struct: Struct, value: str) -> None:
        """Raise when a field that this version lacks holds something that may not be lost."""
        for field in struct.absent(self.version):
            if field.ignorable:
                continue
            default = self.out.constant("D", default_of(field))
            got = f"{value}.get({field.name!r}, {default})"
            lost = got if field.array else f"{got} != {default}"
            self.out.line(f"if {lost}: raise not_in_version(WHAT, {field.name!r})")

    def get(self, field: Field, value: str) -> str:
        """Put a field of `value`, or its default, into a variable."""
        name = self.out.name("x")
        default = self.out.constant("D", default_of(field))
        self.out.line(f"{name} = {value}.get({field.name!r}, {default})")
        return name

    def fixed(self, run: list[Field], value: str) -> None:
        """Write neighbours of fixed size with one call."""
        if not run:
            return
        pack = self.out.constant("P", Packing(">" + "".join(FIXED[f.kind] for f in run)).pack)
        arguments = []
        for field in run:
            default = self.out.constant("D", default_of(field))
            suffix = ".bytes" if field.kind == "uuid" else ""
            arguments.append(f"{value}.get({field.name!r}, {default}){suffix}")
        self.out.line(f"out += {pack}({', '.join(arguments)})")

    def value(self, field: Field, value: str) -> None:
        """Write one field that is not of fixed size, or an array."""
        nullable = field.nullable.has(self.version)
        out = self.out
        if field.struct is not None and not field.array:
            if nullable:
                null = 255 if field.tag is None else 0
                out.line(f"if {value} is None: out.append({null})")
                out.line("else:")
                with out.block():
                    out.line("out.append(1)")
                    self.struct(field.struct, value)
            else:
                self.struct(field.struct, value)
            return
        out.line(f"if {value} is None:")
        with out.block():
            if not nullable:
                out.line(f"raise cannot_be_null(WHAT, {field.name!r})")
            elif self.flexible:
                out.line("out.append(0)")
            else:
                narrow = field.kind == "string" and not field.array
                out.line("out += " + repr(b"\xff" * (2 if narrow else 4)))
        out.line("else:")
        with out.block():
            if field.array:
                self.array(field, value)
            else:
                self.text(field.name, field.kind, value)

    def length(self, expression: str, *, wide: bool) -> None:
        out = self.out
        if not self.flexible:
            pack = out.constant("P", Packing(">i" if wide else ">h").pack)
            out.line(f"out += {pack}({expression})")
            return
        count = out.name("n")
        out.line(f"{count} = {expression} + 1")
        out.line(f"if {count} < 128: out.append({count})")
        out.line(f"else: out += uvarint_bytes({count})")

    def text(self, field: str, kind: str, value: str) -> None:
        out = self.out
        if kind == "string":
            raw = out.name("b")
            out.line(f"{raw} = {value}.encode('utf-8', 'surrogateescape')")
            out.line(f"if len({raw}) > {wire.MAX_STRING}:")
            with out.block():
                out.line(f"raise string_too_long(WHAT, {field!r}, len({raw}))")
            value = raw
        self.length(f"len({value})", wide=kind == "bytes")
        out.line(f"out += {value}")

    def array(self, field: Field, value: str) -> None:
        out = self.out
        self.length(f"len({value})", wide=True)
        if field.struct is None and field.kind in FIXED and field.kind != "uuid":
            out.line(f"out += Packing(f'>{{len({value})}}{FIXED[field.kind]}').pack(*{value})")
            return
        element = out.name("e")
        out.line(f"for {element} in {value}:")
        with out.block():
            if field.struct is not None:
                self.struct(field.struct, element)
            elif field.kind == "uuid":
                out.line(f"out += {element}.bytes")
            else:
                self.text(field.name, field.kind, element)

    def tags(self, struct: Struct, value: str) -> None:
        """Write the section of tagged fields: those that hold something else than their default."""
        out = self.out
        known = struct.tagged(self.version)
        if not known:
            out.line("out.append(0)")
            return
        section, whole = out.name("tags"), out.name("whole")
        out.line(f"{section} = []; {whole} = out")
        for tag, field in known:
            got = self.get(field, value)
            default = out.constant("D", default_of(field))
            out.line(f"if {self.differs(field, got, default)}:")
            with out.block():
                out.line("out = bytearray()")
                if field.kind in FIXED and not field.array:
                    self.fixed([field], value)
                else:
                    self.value(field, got)
                out.line(f"{section}.append(({tag}, out))")
        out.line(f"out = {whole}; out += tag_section({section})")

    def differs(self, field: Field, got: str, default: str) -> str:
        """The condition that a tagged field holds something else than its default."""
        if field.struct is not None and not field.array:
            # Decoding makes lists of arrays.
            listed = self.out.constant("D", default_of(field, []))
            return f"{got} not in ({default}, {listed})"
        if not field.array:
            return f"{got} != {default}"
        if field.null_by_default:
            return f"{got} is not None"
        return f"{got} is None or {got}" if field.nullable.has(self.version) else got
