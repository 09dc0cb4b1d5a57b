"""Generate and compile a decoder for one version of a message, from the table of the message's fields.

The decoder is one Python function. Before the decoder reads an array, it checks that the array fits into the rest of
the message, because a damaged or malicious message can contain any number as the length of the array.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct as Packing
from struct import error
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from uuid import UUID

from kgtui.protocol import primitives
from kgtui.protocol.schema import FIXED, SIZES, UNKNOWN_TAGS
from kgtui.protocol.source_builder import SourceBuilder

if TYPE_CHECKING:
    from kgtui.protocol.schema import Field, Struct

Decode: TypeAlias = Callable[[bytes, int], dict[str, Any]]


def compile_struct(struct: Struct, version: int, *, flexible: bool, strict: bool = False) -> Decode:
    """Return a compiled function `(data, pos)` that decodes a message of this version into a dict.

    Args:
        flexible: whether this version has compact lengths and tagged fields (KIP-482).
        strict: whether the decoder keeps unknown tagged fields, and rejects invalid UTF-8 and trailing bytes.
    """
    return cast("Decode", _Decoder(struct.name, version, flexible=flexible, strict=strict).compile(struct))


def least_size(struct: Struct, version: int, *, flexible: bool) -> int:
    """Return the minimum size of an encoded struct, in bytes.

    Before a decoder reads an array of structs, it multiplies this size by the number of structs. It rejects the array
    if the product is larger than the rest of the message.
    """
    fields = struct.untagged(version)
    return sum(_least_field_size(field, version, flexible=flexible) for field in fields) + flexible


def least_element_size(field: Field, version: int, *, flexible: bool) -> int:
    """Return the minimum size of one encoded element of an array field, in bytes; at least 1."""
    if field.struct is not None:
        return max(1, least_size(field.struct, version, flexible=flexible))
    if field.type in FIXED:
        return SIZES[field.type]
    return 1 if flexible else 4 if field.type == "bytes" else 2


def _least_field_size(field: Field, version: int, *, flexible: bool) -> int:
    if field.array or field.type == "bytes":
        return 1 if flexible else 4
    if field.type == "string":
        return 1 if flexible else 2
    if field.struct is None:
        return SIZES[field.type]
    if field.nullable.has(version):
        return 1
    return least_size(field.struct, version, flexible=flexible)


class _Decoder:
    """Generates the source of one decoder.

    In the generated source, the variable `p` is the position in `data` of the next field, and `end` is the length of
    `data`.
    """

    def __init__(self, message: str, version: int, *, flexible: bool, strict: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.strict = strict
        self.out = SourceBuilder(
            {
                "uvarint": primitives.uvarint,
                "truncated": primitives.truncated,
                "trailing_bytes": primitives.trailing_bytes,
                "not_utf8": primitives.not_utf8,
                "is_null": primitives.is_null,
                "too_long": primitives.too_long,
                "StructError": error,
                "uuid": primitives.uuid,
                "MESSAGE": f"{message} v{version}",
            }
        )

    def compile(self, struct: Struct) -> object:
        out = self.out
        out.line("def decode(data, p):")
        with out.block():
            out.line("end = len(data)")
            out.line("try:")
            with out.block():
                result = self.struct(struct)
                # Slicing beyond the end of the data raises no error. Therefore, the generated code checks the final
                # position.
                out.line("if p > end: raise truncated(MESSAGE, p)")
                if self.strict:
                    out.line("if p < end: raise trailing_bytes(MESSAGE, end - p, p)")
                out.line(f"return {result}")
            out.line("except (IndexError, StructError):")
            with out.block():
                out.line("raise truncated(MESSAGE, p) from None")
            if self.strict:
                out.line("except UnicodeDecodeError:")
                with out.block():
                    out.line("raise not_utf8(MESSAGE, p) from None")
        return out.compile("decode", f"<{struct.name} v{self.version} decoder>")

    def struct(self, struct: Struct) -> str:
        """Generate the code that reads a struct. Return the Python expression for the dict with the struct's fields."""
        values: dict[str, str] = {}
        run: list[Field] = []
        for field in struct.untagged(self.version):
            if field.type in FIXED and not field.array:
                run.append(field)
                continue
            self.fixed(run, values)
            run = []
            values[field.name] = self.value(field)
        self.fixed(run, values)
        for field in struct.absent(self.version):
            values[field.name] = self.default(field)
        unknown = self.tags(struct, values) if self.flexible else ""
        result = "{" + ", ".join(f"{f.name!r}: {values[f.name]}" for f in struct.fields) + "}"
        if not unknown:
            return result
        name = self.out.name("s")
        self.out.line(f"{name} = {result}")
        self.out.line(f"if {unknown}: {name}[{UNKNOWN_TAGS!r}] = {unknown}")
        return name

    def fixed(self, run: list[Field], values: dict[str, str]) -> None:
        """Generate one call of Python's `struct` module that reads successive fields of fixed size (`run`).

        For each field, add an entry to the dict `values`: field name → Python expression for the field's value.
        """
        if not run:
            return
        packing = Packing(">" + "".join(FIXED[f.type] for f in run))
        names = [self.out.name("v") for _ in run]
        unpack = self.out.constant("U", packing.unpack_from)
        self.out.line(f"{', '.join(names)}, = {unpack}(data, p); p += {packing.size}")
        for field, name in zip(run, names, strict=True):
            values[field.name] = f"uuid({name})" if field.type == "uuid" else name

    def value(self, field: Field) -> str:
        """Generate the code that reads one field. Return the Python expression for its value."""
        if field.array:
            return self.array(field)
        if field.struct is not None:
            return self.nested(field, field.struct)
        if field.type in FIXED:
            values: dict[str, str] = {}
            self.fixed([field], values)
            return values[field.name]
        return self.text(field.name, field.type, nullable=field.nullable.has(self.version))

    def nested(self, field: Field, struct: Struct) -> str:
        if not field.nullable.has(self.version):
            return self.struct(struct)
        out, name = self.out, self.out.name("s")
        if field.tag is None:
            out.line("p += 1")
            out.line(f"if data[p - 1] > 127: {name} = None")
        else:
            # A nullable struct begins with a marker, which shows whether the struct is null. The marker for null is
            # the varint 0 in a tagged field, and the int8 -1 in other fields.
            mark = out.name("n")
            out.line(f"{mark}, p = uvarint(data, p)")
            out.line(f"if not {mark}: {name} = None")
        out.line("else:")
        with out.block():
            out.line(f"{name} = {self.struct(struct)}")
        return name

    def length(self, *, wide: bool) -> str:
        """Generate the code that reads the length of a string, bytes or an array.

        Return the name of the variable that holds the length. If the variable is negative, the string, bytes or array
        is null.

        Args:
            wide: whether the length is an int32 instead of an int16. Has no effect in versions with compact lengths.
        """
        out, name = self.out, self.out.name("n")
        if self.flexible:
            out.line(f"{name} = data[p] - 1; p += 1")
            out.line(f"if {name} > 126: {name}, p = uvarint(data, p - 1); {name} -= 1")
        else:
            packing = Packing(">i" if wide else ">h")
            unpack = out.constant("U", packing.unpack_from)
            out.line(f"{name}, = {unpack}(data, p); p += {packing.size}")
        return name

    def text(self, field: str, type_name: str, *, nullable: bool) -> str:
        """Generate the code that reads a string or bytes. Return the name of the variable that holds the value."""
        out = self.out
        length, value = self.length(wide=type_name == "bytes"), out.name("v")
        out.line(f"if {length} < 0:")
        with out.block():
            if nullable:
                out.line(f"{value} = None")
            else:
                out.line(f"raise is_null(MESSAGE, {field!r}, p)")
        out.line("else:")
        with out.block():
            end = out.name("e")
            out.line(f"{end} = p + {length}")
            out.line(f"if {end} > end: raise too_long(MESSAGE, {field!r}, {length}, p)")
            text = ".decode()" if self.strict else ".decode('utf-8', 'surrogateescape')"
            decode = text if type_name == "string" else ""
            out.line(f"{value} = data[p:{end}]{decode}; p = {end}")
        return value

    def array(self, field: Field) -> str:
        out, value = self.out, self.out.name("a")
        count = self.length(wide=True)
        out.line(f"if {count} < 0:")
        with out.block():
            if field.nullable.has(self.version):
                out.line(f"{value} = None")
            else:
                out.line(f"raise is_null(MESSAGE, {field.name!r}, p)")
        out.line("else:")
        with out.block():
            least = least_element_size(field, self.version, flexible=self.flexible)
            out.line(f"if {count} * {least} > end - p: raise too_long(MESSAGE, {field.name!r}, {count}, p)")
            self.elements(field, count, value)
        return value

    def elements(self, field: Field, count: str, value: str) -> None:
        out = self.out
        if field.struct is None and field.type in FIXED and field.type != "uuid":
            unpack = out.constant("unpack_from", Packing.unpack_from)
            packing = out.constant("Packing", Packing)
            letter = FIXED[field.type]
            out.line(f"{value} = list({unpack}({packing}(f'>{{{count}}}{letter}'), data, p))")
            out.line(f"p += {count} * {SIZES[field.type]}")
            return
        add = out.name("add")
        out.line(f"{value} = []; {add} = {value}.append")
        out.line(f"for _ in range({count}):")
        with out.block():
            if field.struct is not None:
                out.line(f"{add}({self.struct(field.struct)})")
            elif field.type == "uuid":
                out.line(f"p += 16; {add}(uuid(data[p - 16:p]))")
            else:
                out.line(f"{add}({self.text(field.name, field.type, nullable=False)})")

    def tags(self, struct: Struct, values: dict[str, str]) -> str:
        """Generate the loop that reads the tagged fields (KIP-482), and add the known tagged fields to `values`.

        Returns:
            For a strict decoder, which keeps unknown tagged fields, the name of the variable that holds these fields (a
            dict, or None if there are none). For other decoders, which drop these fields, an empty string.
        """
        out = self.out
        unknown = out.name("u") if self.strict else ""
        if unknown:
            out.line(f"{unknown} = None")
        tagged = struct.tagged(self.version)
        for _, field in tagged:
            values[field.name] = out.name("t")
            out.line(f"{values[field.name]} = {self.default(field)}")
        out.line("p += 1")
        out.line("if data[p - 1]:")
        with out.block():
            count, tag, size, stop = (out.name(x) for x in ("n", "tag", "size", "stop"))
            out.line(f"{count}, p = uvarint(data, p - 1)")
            out.line(f"for _ in range({count}):")
            with out.block():
                for number in (tag, size):
                    out.line(f"{number} = data[p]; p += 1")
                    out.line(f"if {number} > 127: {number}, p = uvarint(data, p - 1)")
                out.line(f"{stop} = p + {size}")
                out.line(f"if {stop} > end: raise too_long(MESSAGE, 'a tagged field', {size}, p)")
                for tag_number, field in tagged:
                    out.line(f"if {tag} == {tag_number}:")
                    with out.block():
                        out.line(f"{values[field.name]} = {self.value(field)}")
                        out.line(f"if p > {stop}: raise truncated(MESSAGE, p)")
                        if self.strict:
                            out.line(f"if p < {stop}: raise trailing_bytes(MESSAGE, {stop} - p, p)")
                if unknown:
                    known = tuple(number for number, _ in tagged)
                    out.line(f"if {tag} not in {known}: {unknown} = {{**({unknown} or {{}}), {tag}: data[p:{stop}]}}")
                out.line(f"p = {stop}")
        return unknown

    def default(self, field: Field) -> str:
        if field.null_by_default:
            return "None"
        if field.array:
            return "[]"
        if field.struct is not None:
            inner = ", ".join(f"{f.name!r}: {self.default(f)}" for f in field.struct.fields)
            return "{" + inner + "}"
        if field.type == "uuid":
            return self.out.constant("ZERO", UUID(int=0))
        return repr(field.default)
