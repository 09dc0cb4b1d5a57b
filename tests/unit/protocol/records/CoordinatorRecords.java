import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordType;

/**
 * Decodes records with the classes of Kafka's group coordinator. Each input line has the key and the value of a record in
 * hexadecimal, or {@code -} for null. The output line has the record as JSON, and its key and value encoded again. If the
 * record cannot be decoded, the output line is {@code error} and the exception.
 * For the input line {@code types}, the program prints the number, the name and the newest value version of every record
 * type, one type per line.
 */
public final class CoordinatorRecords {
    private static final HexFormat HEX = HexFormat.of();
    private static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            if (line.equals("types")) {
                for (CoordinatorRecordType type : CoordinatorRecordType.values()) {
                    out.println(type.id() + "\t" + type.name() + "\t" + type.highestSupportedVersion());
                }
            } else {
                String[] words = line.split(" ", -1);
                out.println(answer(bytes(words[0]), bytes(words[1])));
            }
        }
        out.flush();
    }

    private static ByteBuffer bytes(String hex) {
        return hex.equals("-") ? null : ByteBuffer.wrap(HEX.parseHex(hex));
    }

    private static String answer(ByteBuffer key, ByteBuffer value) {
        try {
            CoordinatorRecord record = SERDE.deserialize(key, value);
            return json(record) + "\t" + hex(SERDE.serializeKey(record)) + "\t" + hex(SERDE.serializeValue(record));
        } catch (RuntimeException error) {
            return "error " + error.toString().replace('\n', ' ').replace('\t', ' ');
        }
    }

    private static ObjectNode json(CoordinatorRecord record) {
        ObjectNode node = new ObjectNode(JsonNodeFactory.instance);
        ObjectNode key = node.putObject("key");
        key.put("type", record.key().apiKey());
        key.set("data", CoordinatorRecordJsonConverters.writeRecordKeyAsJson(record.key()));
        if (record.value() == null) {
            node.putNull("value");
        } else {
            ObjectNode value = node.putObject("value");
            value.put("version", record.value().version());
            value.set("data", CoordinatorRecordJsonConverters.writeRecordValueAsJson(
                record.value().message(), record.value().version()));
        }
        return node;
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? "-" : HEX.formatHex(bytes);
    }
}
