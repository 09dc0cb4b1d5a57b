package kgtui.spark;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * The record types, and the descriptions of their keys and values.
 *
 * <p>They are read from {@code tables.tsv} in the jar, which {@code kgtui.pipeline.jvm_decoder} writes and documents.
 */
class Tables {
    static final Map TYPES = new HashMap();
    static final StructType RESULT, COMMIT, EVENT, QUARANTINE;
    /** Assignment of a member of a classic group with protocol type consumer. */
    static final Message ASSIGNMENT;

    static {
        String schema = null;
        Message assignment = null;
        try {
            BufferedReader lines = new BufferedReader(
                new InputStreamReader(Tables.class.getResourceAsStream("tables.tsv"), StandardCharsets.UTF_8));
            Message message = null;
            RecordType type = null;
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] cells = line.split("\t", -1);
                if (cells[0].equals("result")) {
                    schema = cells[1];
                } else if (cells[0].equals("type")) {
                    type = new RecordType(cells);
                    TYPES.put(Integer.valueOf(type.number), type);
                } else if (cells[0].equals("message")) {
                    message = new Message(cells);
                    if (cells[1].equals("key")) {
                        type.key = message;
                    } else if (cells[1].equals("value")) {
                        type.values[message.version] = message;
                    } else {
                        assignment = message;
                    }
                } else {
                    message.add(cells);
                }
            }
            lines.close();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
        RESULT = (StructType) DataType.fromJson(schema);
        COMMIT = (StructType) RESULT.apply("commit").dataType();
        EVENT = (StructType) RESULT.apply("event").dataType();
        QUARANTINE = (StructType) RESULT.apply("quarantine").dataType();
        ASSIGNMENT = assignment;
    }

    /** A record type, with the message of its key and the messages of all versions of its value. */
    static class RecordType {
        final int number;
        /** Name of the value's message, for error messages about unknown versions. */
        final String valueName;
        final Message[] values;
        /** Values of the columns {@code type}, {@code record} and {@code about} of {@code group_events}. */
        final String groupType, record, about;
        Message key;

        RecordType(String[] cells) {
            number = Integer.parseInt(cells[1]);
            valueName = cells[2];
            values = new Message[Integer.parseInt(cells[3]) + 1];
            groupType = cells[4];
            record = cells[5];
            about = cells[6];
        }
    }
}
