package kgtui.spark;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;

/**
 * Decodes a message as {@code kgtui.protocol.decoder_codegen} does, with the same errors.
 *
 * <p>The number of elements of an array is compared with the rest of the data before any element is read, so that a
 * forged number neither allocates memory nor causes a long loop.
 */
class MessageReader {
    private final Message message;
    private final byte[] data;
    private int p;

    private MessageReader(Message message, byte[] data, int start) {
        this.message = message;
        this.data = data;
        p = start;
    }

    /** Decodes the message that begins at {@code start}. Throws DamagedException. */
    static Message.Node read(Message message, byte[] data, int start) {
        MessageReader reader = new MessageReader(message, data, start);
        Message.Node node = reader.struct(message.struct);
        if (message.strict) {
            reader.checkEnd(data.length);
        }
        return node;
    }

    private void checkEnd(int end) {
        if (p > end) {
            throw truncated();
        }
        if (p < end && message.strict) {
            throw new DamagedException(
                message.label + " is followed by " + (end - p) + " bytes that do not belong to it");
        }
    }

    private DamagedException truncated() {
        return new DamagedException(message.label + " ends too early");
    }

    private DamagedException tooLong(String field, long length) {
        return new DamagedException(
            message.label + ": " + field + " has a length of " + length + ", but the message ends earlier");
    }

    private Message.Node struct(Message.Struct struct) {
        Message.Node node = new Message.Node(struct);
        for (int i = 0; i < node.values.length; i++) {
            Message.Field field = (Message.Field) struct.fields.get(i);
            if (field.present && field.tag < 0) {
                node.values[i] = value(field);
            }
        }
        if (message.flexible) {
            tags(struct, node);
        }
        return node;
    }

    private Object value(Message.Field field) {
        if (field.array) {
            return array(field);
        }
        if (field.struct != null) {
            if (field.nullable && isNull(field)) {
                return null;
            }
            return struct(field.struct);
        }
        return field.size > 0 ? fixed(field) : text(field, field.nullable);
    }

    /** Reads whether a nullable struct is null: a varint if tagged, otherwise an int8. */
    private boolean isNull(Message.Field field) {
        return field.tag < 0 ? bytes(1) < 0 : uvarint() == 0;
    }

    private Object fixed(Message.Field field) {
        if (field.size == 16) {
            if (data.length - p < 16) {
                throw truncated();
            }
            p += 16;
            return Arrays.copyOfRange(data, p - 16, p);
        }
        long number = bytes(field.size);
        if (field.type.equals("uint16")) {
            number &= 0xFFFF;
        }
        return Long.valueOf(number);
    }

    /** Reads a big-endian signed integer. */
    private long bytes(int size) {
        if (data.length - p < size) {
            throw truncated();
        }
        long number = data[p];
        for (int i = 1; i < size; i++) {
            number = number << 8 | data[p + i] & 0xFF;
        }
        p += size;
        return number;
    }

    private long uvarint() {
        long number = 0;
        for (int shift = 0; shift <= 28; shift += 7) {
            long part = bytes(1);
            number |= (part & 0x7F) << shift;
            if (part >= 0) {
                return number;
            }
        }
        throw new DamagedException("a variable-length integer has more than five bytes");
    }

    /** Reads the length of a string, or the number of elements of an array. It is negative for null. */
    private long length(boolean wide) {
        return message.flexible ? uvarint() - 1 : bytes(wide ? 4 : 2);
    }

    private DamagedException isNullError(Message.Field field) {
        return new DamagedException(message.label + ": " + field.name + " is null, which this version does not allow");
    }

    /** Reads a string or bytes. */
    private Object text(Message.Field field, boolean nullable) {
        boolean isString = field.type.equals("string");
        long length = length(!isString);
        if (length < 0) {
            if (nullable) {
                return null;
            }
            throw isNullError(field);
        }
        if (length > data.length - p) {
            throw tooLong(field.name, length);
        }
        int start = p;
        p += (int) length;
        if (!isString) {
            return Arrays.copyOfRange(data, start, p);
        }
        String text = utf8(data, start, p);
        if (text != null) {
            return text;
        }
        if (message.strict) {
            throw new DamagedException(message.label + " has a string that is not UTF-8");
        }
        return withSurrogates(data, start, p);
    }

    private List array(Message.Field field) {
        long count = length(true);
        if (count < 0) {
            if (field.nullable) {
                return null;
            }
            throw isNullError(field);
        }
        if (count * field.leastSize > data.length - p) {
            throw tooLong(field.name, count);
        }
        List elements = new ArrayList();
        for (long i = 0; i < count; i++) {
            if (field.struct != null) {
                elements.add(struct(field.struct));
            } else {
                elements.add(field.size > 0 ? fixed(field) : text(field, false));
            }
        }
        return elements;
    }

    private void tags(Message.Struct struct, Message.Node node) {
        long count = uvarint();
        for (long i = 0; i < count; i++) {
            long tag = uvarint();
            long size = uvarint();
            if (size > data.length - p) {
                throw tooLong("a tagged field", size);
            }
            int stop = p + (int) size;
            int index = tagged(struct, tag);
            if (index >= 0) {
                node.values[index] = value((Message.Field) struct.fields.get(index));
                checkEnd(stop);
            } else if (message.strict) {
                if (node.unknown == null) {
                    node.unknown = new TreeMap();
                }
                node.unknown.put(Long.valueOf(tag), Arrays.copyOfRange(data, p, stop));
            }
            p = stop;
        }
    }

    private static int tagged(Message.Struct struct, long tag) {
        for (int i = 0; i < struct.fields.size(); i++) {
            Message.Field field = (Message.Field) struct.fields.get(i);
            if (field.present && field.tag >= 0 && field.tag == tag) {
                return i;
            }
        }
        return -1;
    }

    /** Returns whether some bytes are valid UTF-8. */
    static boolean isUtf8(byte[] data, int start, int end) {
        for (int i = start; i < end; i++) {
            if (data[i] < 0) {
                return utf8(data, start, end) != null;
            }
        }
        return true;
    }

    /** Decodes UTF-8; returns null if the bytes are not valid. */
    private static String utf8(byte[] data, int start, int end) {
        int ascii = start;
        while (ascii < end && data[ascii] >= 0) {
            ascii += 1;
        }
        if (ascii == end) {
            return new String(data, start, end - start, StandardCharsets.ISO_8859_1);
        }
        try {
            return StandardCharsets.UTF_8.newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT)
                .decode(ByteBuffer.wrap(data, start, end - start)).toString();
        } catch (CharacterCodingException error) {
            return null;
        }
    }

    /** Decodes UTF-8; each byte that is not valid becomes a lone surrogate, as in Python (surrogateescape). */
    private static String withSurrogates(byte[] data, int start, int end) {
        StringBuilder text = new StringBuilder();
        for (int i = start; i < end;) {
            String one = null;
            int size = 1;
            while (size <= 4 && i + size <= end && one == null) {
                one = utf8(data, i, i + size);
                size += 1;
            }
            if (one == null) {
                text.append((char) (0xDC00 + (data[i] & 0xFF)));
                i += 1;
            } else {
                text.append(one);
                i += size - 1;
            }
        }
        return text.toString();
    }
}
