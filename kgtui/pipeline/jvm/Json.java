package kgtui.spark;

import java.util.Base64;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Writes JSON with the same characters as Python's {@code json.dumps}. */
class Json {
    private static final char[] HEX = "0123456789abcdef".toCharArray();

    private Json() {
    }

    /** Appends a string, or null. Characters that are not ASCII are escaped. */
    static void string(StringBuilder out, String text) {
        if (text == null) {
            out.append("null");
            return;
        }
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            int special = c >= ' ' && c != '"' && c != '\\' ? -1 : "\"\\\n\r\t\b\f".indexOf(c);
            if (special >= 0) {
                out.append('\\').append("\"\\nrtbf".charAt(special));
            } else if (c >= ' ' && c <= '~') {
                out.append(c);
            } else {
                out.append("\\u").append(HEX[c >> 12]).append(HEX[c >> 8 & 15]).append(HEX[c >> 4 & 15])
                    .append(HEX[c & 15]);
            }
        }
        out.append('"');
    }

    /** Appends an array of strings, with a space after each comma. */
    static void strings(StringBuilder out, List texts) {
        out.append('[');
        for (int i = 0; i < texts.size(); i++) {
            out.append(i == 0 ? "" : ", ");
            string(out, (String) texts.get(i));
        }
        out.append(']');
    }

    /** Appends unknown tagged fields as an object: number to content in standard base64. */
    static void unknown(StringBuilder out, Map fields) {
        String comma = "";
        out.append('{');
        for (Iterator all = fields.entrySet().iterator(); all.hasNext();) {
            Map.Entry field = (Map.Entry) all.next();
            out.append(comma).append('"').append(field.getKey()).append("\":\"");
            out.append(Base64.getEncoder().encodeToString((byte[]) field.getValue())).append('"');
            comma = ",";
        }
        out.append('}');
    }

    /** Appends a struct as Kafka prints it; see {@code kgtui.protocol.records.as_json}. */
    static void node(StringBuilder out, Message.Node node) {
        String comma = "";
        out.append('{');
        for (int i = 0; i < node.values.length; i++) {
            Message.Field field = (Message.Field) node.struct.fields.get(i);
            if (!field.present || field.tag >= 0 && field.isDefault(node.values[i])) {
                continue;
            }
            out.append(comma).append('"').append(field.jsonName).append("\":");
            value(out, field, node.values[i]);
            comma = ",";
        }
        if (node.unknown != null) {
            out.append(comma).append("\"unknownTaggedFields\":");
            unknown(out, node.unknown);
        }
        out.append('}');
    }

    private static void value(StringBuilder out, Message.Field field, Object value) {
        if (!(value instanceof List)) {
            single(out, field, value);
            return;
        }
        List elements = (List) value;
        out.append('[');
        for (int i = 0; i < elements.size(); i++) {
            out.append(i == 0 ? "" : ",");
            single(out, field, elements.get(i));
        }
        out.append(']');
    }

    private static void single(StringBuilder out, Message.Field field, Object value) {
        if (value instanceof Message.Node) {
            node(out, (Message.Node) value);
        } else if (value instanceof byte[]) {
            byte[] bytes = (byte[]) value;
            out.append('"');
            out.append(field.size == 16 ? uuid(bytes, 0) : Base64.getEncoder().encodeToString(bytes));
            out.append('"');
        } else if (value instanceof String) {
            string(out, (String) value);
        } else {
            out.append(value);
        }
    }

    /** Returns the 16 bytes of a UUID as URL-safe base64 without padding, as Kafka prints it. */
    static String uuid(byte[] data, int start) {
        byte[] bytes = java.util.Arrays.copyOfRange(data, start, start + 16);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }
}
