package kgtui.spark;

import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Decodes records with the same results as {@code decode_record} in {@code kgtui.pipeline.transforms.record_decoding}.
 *
 * <p>Nearly all records are offset commits, so offset commits have a fast decoder. It returns null for commits that it
 * does not support. They, and all other records, are decoded with the descriptions of messages in {@link Tables}.
 */
class RecordDecoder {
    private static final int HEADER = 2, NEWEST_COMMIT = 4, UUID_SIZE = 16;
    /** First millisecond of the year 1 and last millisecond of the year 9999, in milliseconds since 1970. */
    private static final long EARLIEST_MS = -62135596800000L, LATEST_MS = 253402300799999L;
    private static final int COMMIT_SIZE = Tables.COMMIT.length();
    private static final int GROUP = commit("group"), TOPIC = commit("topic"), PARTITION = commit("partition");
    private static final int OFFSET = commit("offset"), EPOCH = commit("leader_epoch"), METADATA = commit("metadata");
    private static final int COMMITTED = commit("commit_time"), EXPIRES = commit("expire_time");
    private static final int TOPIC_ID = commit("topic_id"), UNKNOWN = commit("unknown_fields");

    private RecordDecoder() {
    }

    private static int commit(String column) {
        return Tables.COMMIT.fieldIndex(column);
    }

    /** Decodes a record into the struct of {@link DecodeFunction}. Key and value may be null. */
    static InternalRow decode(byte[] key, byte[] value) {
        Object[] commit = usualCommit(key, value);
        Object[] event = null;
        Object[] quarantine = null;
        if (commit == null) {
            Failure failure = new Failure();
            try {
                Object[] row = decodeWithTables(key, value, failure);
                if (isCommit(failure.type)) {
                    commit = row;
                } else {
                    event = row;
                }
            } catch (DamagedException error) {
                quarantine = failure.row(error.getMessage(), key, value);
            }
        }
        return new GenericInternalRow(new Object[] {struct(commit), struct(event), struct(quarantine)});
    }

    private static InternalRow struct(Object[] values) {
        return values == null ? null : new GenericInternalRow(values);
    }

    /** Decodes an offset commit into the struct {@code commit}; returns null for damaged commits and other records. */
    static InternalRow commit(byte[] key, byte[] value) {
        Object[] commit = usualCommit(key, value);
        if (commit == null && key != null && key.length >= HEADER && key[0] == 0 && (key[1] & 0xFE) == 0) {
            try {
                commit = decodeWithTables(key, value, new Failure());
            } catch (DamagedException error) {
                return null;
            }
        }
        return struct(commit);
    }

    private static boolean isCommit(Tables.RecordType type) {
        return type.number <= 1;
    }

    // -- offset commits ---------------------------------------------------------------------------------------------

    /** Returns the columns of a commit; null if the record is not a commit, or if it is not supported. */
    private static Object[] usualCommit(byte[] key, byte[] value) {
        if (key == null || key.length < 10 || key[0] != 0 || (key[1] & 0xFE) != 0) {
            return null;
        }
        int topicAt = HEADER + 2 + int16(key, HEADER);
        if (topicAt < HEADER + 2 || topicAt + 6 > key.length) {
            return null;
        }
        int partitionAt = topicAt + 2 + int16(key, topicAt);
        if (partitionAt < topicAt + 2 || partitionAt + 4 != key.length
            || !MessageReader.isUtf8(key, HEADER + 2, topicAt)
            || !MessageReader.isUtf8(key, topicAt + 2, partitionAt)) {
            return null;
        }
        Object[] row = new Object[COMMIT_SIZE];
        row[GROUP] = UTF8String.fromBytes(key, HEADER + 2, topicAt - HEADER - 2);
        row[TOPIC] = UTF8String.fromBytes(key, topicAt + 2, partitionAt - topicAt - 2);
        row[PARTITION] = Integer.valueOf(int32(key, partitionAt));
        return value == null || addValue(row, value) ? row : null;
    }

    /** Adds the columns of a commit's value to a row; returns false if the fast decoder does not support the value. */
    private static boolean addValue(Object[] row, byte[] value) {
        if (value.length < 20 || value[0] != 0 || value[1] < 0 || value[1] > NEWEST_COMMIT) {
            return false;
        }
        int version = value[1];
        int at = 10;
        if (version >= 3) {
            int epoch = int32(value, at);
            row[EPOCH] = epoch == -1 ? null : Integer.valueOf(epoch);
            at += 4;
        }
        int size;
        if (version == NEWEST_COMMIT) {
            // The length is a varint, of which only one or two bytes are supported.
            size = value[at++];
            if (size < 0) {
                size = size & 0x7F | value[at++] << 7;
            }
            size -= 1;
        } else {
            size = int16(value, at);
            at += 2;
        }
        // After the metadata, a commit has 8 bytes in versions 0, 2 and 3, 16 in version 1, and at least 9 in version 4.
        int left = value.length - at - size - 8;
        int least = version == NEWEST_COMMIT ? 1 : version == 1 ? 8 : 0;
        if (size < 0 || left < least || version < NEWEST_COMMIT && left > least
            || !MessageReader.isUtf8(value, at, at + size)) {
            return false;
        }
        row[OFFSET] = Long.valueOf(int64(value, HEADER));
        row[METADATA] = UTF8String.fromBytes(value, at, size);
        at += size;
        long committed = int64(value, at);
        if (committed < EARLIEST_MS || committed > LATEST_MS) {
            return false;
        }
        row[COMMITTED] = Long.valueOf(committed * 1000);
        return version == NEWEST_COMMIT ? addTopicId(row, value, at + 8) : version != 1 || addExpiry(row, value, at + 8);
    }

    private static boolean addExpiry(Object[] row, byte[] value, int at) {
        long expires = int64(value, at);
        row[EXPIRES] = expires == -1 ? null : Long.valueOf(expires * 1000);
        return expires >= EARLIEST_MS && expires <= LATEST_MS;
    }

    /** Adds the topic id; returns false if there are other tagged fields. */
    private static boolean addTopicId(Object[] row, byte[] value, int at) {
        if (value[at] == 0) {
            return value.length == at + 1;
        }
        if (value.length != at + 3 + UUID_SIZE || value[at] != 1 || value[at + 1] != 0 || value[at + 2] != UUID_SIZE) {
            return false;
        }
        row[TOPIC_ID] = topicId(value, at + 3);
        return true;
    }

    private static UTF8String topicId(byte[] data, int at) {
        return (int64(data, at) | int64(data, at + 8)) == 0 ? null : UTF8String.fromString(Json.uuid(data, at));
    }

    private static int int16(byte[] data, int at) {
        return data[at] << 8 | data[at + 1] & 0xFF;
    }

    private static int int32(byte[] data, int at) {
        return int16(data, at) << 16 | int16(data, at + 2) & 0xFFFF;
    }

    private static long int64(byte[] data, int at) {
        return (long) int32(data, at) << 32 | int32(data, at + 4) & 0xFFFFFFFFL;
    }

    // -- all records ------------------------------------------------------------------------------------------------

    /** Why a record cannot be decoded, and what is known about it. The attributes are set while it is decoded. */
    private static class Failure {
        String fault = "damaged key";
        Integer number;
        Integer version;
        Tables.RecordType type;

        Object[] row(String reason, byte[] key, byte[] value) {
            Object[] row = new Object[Tables.QUARANTINE.length()];
            set(Tables.QUARANTINE, row, "fault", fault);
            set(Tables.QUARANTINE, row, "reason", reason);
            row[Tables.QUARANTINE.fieldIndex("type")] = number;
            row[Tables.QUARANTINE.fieldIndex("version")] = version;
            row[Tables.QUARANTINE.fieldIndex("key")] = key;
            row[Tables.QUARANTINE.fieldIndex("value")] = value;
            return row;
        }
    }

    private static void set(StructType struct, Object[] row, String column, String text) {
        row[struct.fieldIndex(column)] = UTF8String.fromString(text);
    }

    /** Returns the columns of a commit or event. Before it throws a DamagedException, it sets {@code failure}. */
    private static Object[] decodeWithTables(byte[] key, byte[] value, Failure failure) {
        if (key == null || key.length < HEADER) {
            throw new DamagedException(key == null ? "the record has no key" : tooShort("key", key));
        }
        int number = int16(key, 0);
        failure.number = Integer.valueOf(number);
        Tables.RecordType type = (Tables.RecordType) Tables.TYPES.get(failure.number);
        failure.type = type;
        if (type == null) {
            failure.fault = "unknown type";
            throw new DamagedException("record type " + number + " is not known");
        }
        Message.Node decodedKey = MessageReader.read(type.key, key, HEADER);
        failure.fault = "damaged value";
        Message.Node decoded = value == null ? null : value(type, value, failure);
        if (!isCommit(type)) {
            return EventColumns.of(type, decodedKey, decoded, failure.version);
        }
        return tableCommit(decodedKey, decoded);
    }

    private static Message.Node value(Tables.RecordType type, byte[] value, Failure failure) {
        if (value.length < HEADER) {
            throw new DamagedException(tooShort("value", value));
        }
        int version = int16(value, 0);
        failure.version = Integer.valueOf(version);
        if (version < 0 || version >= type.values.length) {
            failure.fault = "unknown version";
            throw new DamagedException(type.valueName + " is supported in versions 0 to " + (type.values.length - 1)
                + ", not " + version);
        }
        return MessageReader.read(type.values[version], value, HEADER);
    }

    private static String tooShort(String part, byte[] data) {
        return "the " + part + " has only " + data.length + " bytes";
    }

    private static Object[] tableCommit(Message.Node key, Message.Node value) {
        Object[] row = new Object[COMMIT_SIZE];
        row[GROUP] = UTF8String.fromString(key.text("group"));
        row[TOPIC] = UTF8String.fromString(key.text("topic"));
        row[PARTITION] = Integer.valueOf((int) key.number("partition"));
        if (value == null) {
            return row;
        }
        row[OFFSET] = Long.valueOf(value.number("offset"));
        row[METADATA] = UTF8String.fromString(value.text("metadata"));
        row[COMMITTED] = micros("commit_time", value.number("commitTimestamp"));
        if (value.has("leaderEpoch") && value.number("leaderEpoch") != -1) {
            row[EPOCH] = Integer.valueOf((int) value.number("leaderEpoch"));
        }
        if (value.has("expireTimestamp") && value.number("expireTimestamp") != -1) {
            row[EXPIRES] = micros("expire_time", value.number("expireTimestamp"));
        }
        if (value.has("topicId")) {
            row[TOPIC_ID] = topicId((byte[]) value.get("topicId"), 0);
        }
        if (value.unknown != null) {
            StringBuilder json = new StringBuilder();
            Json.unknown(json, value.unknown);
            row[UNKNOWN] = UTF8String.fromString(json.toString());
        }
        return row;
    }

    /** Converts milliseconds to microseconds. Throws DamagedException for times that Spark cannot store. */
    static Long micros(String column, long millis) {
        if (millis < EARLIEST_MS || millis > LATEST_MS) {
            throw new DamagedException(
                column + " is " + millis + " ms since 1970, which is not in the years 1 to 9999");
        }
        return Long.valueOf(millis * 1000);
    }
}
