package kgtui.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Describes one version of a message: its fields, and how they are encoded. */
class Message {
    final int version;
    /** Name and version for error messages. */
    final String label;
    /** Whether the version has compact lengths and tagged fields (KIP-482). */
    final boolean flexible;
    /** Whether strings that are not UTF-8, and bytes after the last field, are errors. */
    final boolean strict;
    final Struct struct = new Struct();
    private final List open = new ArrayList();

    Message(String[] cells) {
        label = cells[2];
        version = Integer.parseInt(cells[3]);
        flexible = cells[4].equals("1");
        strict = cells[5].equals("1");
        open.add(struct);
    }

    /** Add a field. A field with nesting depth n belongs to the last struct with nesting depth n - 1 before it. */
    void add(String[] cells) {
        Field field = new Field(cells);
        int depth = Integer.parseInt(cells[1]);
        while (open.size() > depth + 1) {
            open.remove(open.size() - 1);
        }
        ((Struct) open.get(depth)).fields.add(field);
        if (field.struct != null) {
            open.add(field.struct);
        }
    }

    /** The fields of a message, or of a struct inside a message. */
    static class Struct {
        final List fields = new ArrayList();
        private volatile Map indexes;

        /** Returns the index of a field, or -1 if there is no such field. */
        int index(String name) {
            Map known = indexes;
            if (known == null) {
                known = new HashMap();
                for (int i = 0; i < fields.size(); i++) {
                    known.put(((Field) fields.get(i)).name, Integer.valueOf(i));
                }
                indexes = known;
            }
            Integer found = (Integer) known.get(name);
            return found == null ? -1 : found.intValue();
        }
    }

    /** One field in one version of a message, with the attributes of {@code kgtui.protocol.schema.Field}. */
    static class Field {
        final String name, jsonName, type;
        final boolean array, nullable;
        /** Number of a tagged field; -1 if the field is not tagged. */
        final int tag;
        /** Whether this version has the field. */
        final boolean present;
        /** Minimum size in bytes of one element of an array. */
        final int leastSize;
        final boolean nullByDefault;
        /** Default of an integer. */
        final long number;
        /** Default of a string. */
        final String text;
        /** Size in bytes if the type has a fixed size; otherwise 0. */
        final int size;
        /** Fields of a struct; null for other types. */
        final Struct struct;

        Field(String[] cells) {
            name = cells[2];
            jsonName = cells[3];
            type = cells[4];
            array = cells[5].equals("1");
            nullable = cells[6].equals("1");
            tag = Integer.parseInt(cells[7]);
            present = cells[8].equals("1");
            leastSize = Integer.parseInt(cells[9]);
            nullByDefault = cells[10].equals("1");
            size = Integer.parseInt(cells[11]);
            struct = cells[12].equals("1") ? new Struct() : null;
            text = cells[13];
            number = size > 0 && size < 16 && !text.isEmpty() ? Long.parseLong(text) : 0;
        }

        /** Returns the value of a field that is missing in the data. */
        Object defaultValue() {
            if (nullByDefault) {
                return null;
            }
            if (array) {
                return new ArrayList();
            }
            if (struct != null) {
                return new Node(struct);
            }
            if (size > 0 && size < 16) {
                return Long.valueOf(number);
            }
            return type.equals("string") ? (Object) text : new byte[size];
        }

        /** Returns whether a value equals the value of a missing field. */
        boolean isDefault(Object value) {
            if (value == null || nullByDefault) {
                return value == null && nullByDefault;
            }
            if (array) {
                return ((List) value).isEmpty();
            }
            if (struct != null) {
                return ((Node) value).isDefault();
            }
            if (value instanceof byte[]) {
                return java.util.Arrays.equals((byte[]) value, new byte[size]);
            }
            return value.equals(defaultValue());
        }
    }

    /** A decoded struct: one value per field. Integers are Long, arrays are List, and UUIDs are byte arrays. */
    static class Node {
        final Struct struct;
        final Object[] values;
        /** Unknown tagged fields: tag as Long to content as bytes; null if there are none. */
        java.util.TreeMap unknown;

        /** Create a struct with the default of each field. */
        Node(Struct struct) {
            this.struct = struct;
            values = new Object[struct.fields.size()];
            for (int i = 0; i < values.length; i++) {
                values[i] = ((Field) struct.fields.get(i)).defaultValue();
            }
        }

        boolean has(String name) {
            return struct.index(name) >= 0;
        }

        /** Returns the value of a field; null also if there is no such field. */
        Object get(String name) {
            int index = struct.index(name);
            return index < 0 ? null : values[index];
        }

        long number(String name) {
            return ((Long) get(name)).longValue();
        }

        String text(String name) {
            return (String) get(name);
        }

        List list(String name) {
            return (List) get(name);
        }

        boolean isDefault() {
            for (int i = 0; i < values.length; i++) {
                if (!((Field) struct.fields.get(i)).isDefault(values[i])) {
                    return false;
                }
            }
            return unknown == null;
        }
    }
}
