"""Generate and compile an encoder for one version of a message, from the table of the message's fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct as Packing
from struct import error
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from uuid import UUID

from kgtui.errors import EncodeError
from kgtui.protocol import primitives
from kgtui.protocol.schema import FIXED, UNKNOWN_TAGS, default_value
from kgtui.protocol.source_builder import SourceBuilder

if TYPE_CHECKING:
    from kgtui.protocol.schema import Field, Struct

Encode: TypeAlias = Callable[[Mapping[str, Any]], bytes]


def compile_struct(struct: Struct, version: int, *, flexible: bool, strict: bool = False) -> Encode:
    """Return a compiled function that encodes a message of this version from a dict: field name → value.

    Args:
        flexible: whether this version has compact lengths and tagged fields (KIP-482).
        strict: whether to also write the unknown tagged fields that are stored under the key `UNKNOWN_TAGS`.
    """
    return cast("Encode", _Encoder(struct.name, version, flexible=flexible, strict=strict).compile(struct))


class _Encoder:
    """Generates the source of one encoder, which appends the encoded bytes to the bytearray `out`.

    The argument `value` of the methods is the name of a variable in the generated code. In the methods `value()`,
    `text()` and `array()`, this variable contains the value of one field. In the other methods, the variable contains a
    struct, as a dict: field name → value.
    """

    def __init__(self, message: str, version: int, *, flexible: bool, strict: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.keeps_unknown = strict and flexible
        self.out = SourceBuilder(
            {
                "uvarint_bytes": primitives.uvarint_bytes,
                "cannot_be_null": primitives.cannot_be_null,
                "string_too_long": primitives.string_too_long,
                "not_in_version": primitives.not_in_version,
                "unknown_fields": primitives.unknown_fields,
                "tag_section": primitives.tag_section,
                "Packing": Packing,
                "StructError": error,
                "EncodeError": EncodeError,
                "UUID": UUID,
                "MESSAGE": f"{message} v{version}",
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
                out.line("raise EncodeError(f'{MESSAGE}: {err}') from err")
            out.line("return bytes(out)")
        return out.compile("encode", f"<{struct.name} v{self.version} encoder>")

    def struct(self, struct: Struct, value: str) -> None:
        out = self.out
        others = {UNKNOWN_TAGS} if self.keeps_unknown else set()
        names = out.constant("NAMES", frozenset(f.name for f in struct.fields) | others)
        out.line(f"if not {value}.keys() <= {names}:")
        with out.block():
            out.line(f"raise unknown_fields({struct.name!r}, sorted({value}.keys() - {names}))")
        self.reject_absent(struct, value)
        run: list[Field] = []
        for field in struct.untagged(self.version):
            if field.type in FIXED and not field.array:
                run.append(field)
                continue
            self.fixed(run, value)
            run = []
            self.value(field, self.get(field, value))
        self.fixed(run, value)
        if self.flexible:
            self.tags(struct, value)

    def reject_absent(self, struct: Struct, value: str) -> None:
        """Generate code that raises EncodeError if a value is given for a field that this version lacks.

        Default values, and values of ignorable fields, are dropped without an error.
        """
        for field in struct.absent(self.version):
            if field.ignorable:
                continue
            default = self.out.constant("D", default_value(field))
            expression = f"{value}.get({field.name!r}, {default})"
            is_set = expression if field.array else f"{expression} != {default}"
            self.out.line(f"if {is_set}: raise not_in_version(MESSAGE, {field.name!r})")

    def get(self, field: Field, value: str) -> str:
        """Generate a line that assigns a field's value (or default) to a new variable. Return the variable's name."""
        name = self.out.name("x")
        default = self.out.constant("D", default_value(field))
        self.out.line(f"{name} = {value}.get({field.name!r}, {default})")
        return name

    def fixed(self, run: list[Field], value: str) -> None:
        """Generate one call of Python's `struct` module that encodes successive fields of fixed size (`run`)."""
        if not run:
            return
        pack = self.out.constant("P", Packing(">" + "".join(FIXED[f.type] for f in run)).pack)
        arguments = []
        for field in run:
            default = self.out.constant("D", default_value(field))
            suffix = ".bytes" if field.type == "uuid" else ""
            arguments.append(f"{value}.get({field.name!r}, {default}){suffix}")
        self.out.line(f"out += {pack}({', '.join(arguments)})")

    def value(self, field: Field, value: str) -> None:
        """Generate the code that encodes a field whose size can vary: a string, bytes, an array or a struct."""
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
                out.line(f"raise cannot_be_null(MESSAGE, {field.name!r})")
            elif self.flexible:
                out.line("out.append(0)")
            else:
                narrow = field.type == "string" and not field.array
                out.line("out += " + repr(b"\xff" * (2 if narrow else 4)))
        out.line("else:")
        with out.block():
            if field.array:
                self.array(field, value)
            else:
                self.text(field.name, field.type, value)

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

    def text(self, field: str, type_name: str, value: str) -> None:
        out = self.out
        if type_name == "string":
            raw = out.name("b")
            out.line(f"{raw} = {value}.encode('utf-8', 'surrogateescape')")
            out.line(f"if len({raw}) > {primitives.MAX_STRING}:")
            with out.block():
                out.line(f"raise string_too_long(MESSAGE, {field!r}, len({raw}))")
            value = raw
        self.length(f"len({value})", wide=type_name == "bytes")
        out.line(f"out += {value}")

    def array(self, field: Field, value: str) -> None:
        out = self.out
        self.length(f"len({value})", wide=True)
        if field.struct is None and field.type in FIXED and field.type != "uuid":
            out.line(f"out += Packing(f'>{{len({value})}}{FIXED[field.type]}').pack(*{value})")
            return
        element = out.name("e")
        out.line(f"for {element} in {value}:")
        with out.block():
            if field.struct is not None:
                self.struct(field.struct, element)
            elif field.type == "uuid":
                out.line(f"out += {element}.bytes")
            else:
                self.text(field.name, field.type, element)

    def tags(self, struct: Struct, value: str) -> None:
        """Generate the code that encodes the tagged fields (KIP-482). It leaves out fields with their default value."""
        out = self.out
        tagged = struct.tagged(self.version)
        if not tagged and not self.keeps_unknown:
            out.line("out.append(0)")
            return
        section, whole = out.name("tags"), out.name("whole")
        out.line(f"{section} = []; {whole} = out")
        for tag, field in tagged:
            expression = self.get(field, value)
            default = out.constant("D", default_value(field))
            out.line(f"if {self.differs(field, expression, default)}:")
            with out.block():
                out.line("out = bytearray()")
                if field.type in FIXED and not field.array:
                    self.fixed([field], value)
                else:
                    self.value(field, expression)
                out.line(f"{section}.append(({tag}, out))")
        if self.keeps_unknown:
            out.line(f"{section} += {value}.get({UNKNOWN_TAGS!r}, {{}}).items(); {section}.sort()")
        out.line(f"out = {whole}; out += tag_section({section})")

    def differs(self, field: Field, expression: str, default: str) -> str:
        """Return a Python condition that checks whether the value of a tagged field differs from its default."""
        if field.struct is not None and not field.array:
            # An empty array is a tuple in `default`, but a list in a decoded struct. In Python, `()` and `[]` are not
            # equal. Therefore, compare the value with two defaults: one with tuples, and one with lists.
            listed = self.out.constant("D", default_value(field, []))
            return f"{expression} not in ({default}, {listed})"
        if not field.array:
            return f"{expression} != {default}"
        if field.null_by_default:
            return f"{expression} is not None"
        return f"{expression} is None or {expression}" if field.nullable.has(self.version) else expression
