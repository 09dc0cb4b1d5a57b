import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.ConsumerProtocolAssignment;
import org.apache.kafka.common.message.ConsumerProtocolSubscription;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * Prints results of Kafka's own classes. Each input line is one of these questions:
 * "echo request|response KEY VERSION HEX" decodes a message, encodes it again, and prints the bytes in hexadecimal,
 * "echo subscription|assignment - VERSION HEX" does the same for the member data of consumers,
 * "headers KEY VERSION" prints the versions of the request header and of the response header of an API version,
 * "errors" prints one line per error code: code, name, "true" if Kafka retries the error, and message,
 * "connect" prints one line per sample of the member data of Connect workers: name and bytes in hexadecimal.
 */
public class Oracle {
    static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ", -1);
            switch (words[0]) {
                case "echo" -> OUT.println(echo(words[1], words[2], Short.parseShort(words[3]), words[4]));
                case "headers" -> OUT.println(headers(Short.parseShort(words[1]), Short.parseShort(words[2])));
                case "errors" -> errors();
                case "connect" -> connect();
                default -> throw new IllegalArgumentException(line);
            }
        }
    }

    static Message message(String kind, String key) {
        return switch (kind) {
            case "request" -> ApiMessageType.fromApiKey(Short.parseShort(key)).newRequest();
            case "response" -> ApiMessageType.fromApiKey(Short.parseShort(key)).newResponse();
            case "subscription" -> new ConsumerProtocolSubscription();
            case "assignment" -> new ConsumerProtocolAssignment();
            default -> throw new IllegalArgumentException(kind);
        };
    }

    static String echo(String kind, String key, short version, String hex) {
        try {
            Message message = message(kind, key);
            ByteBuffer buffer = ByteBuffer.wrap(HexFormat.of().parseHex(hex));
            message.read(new ByteBufferAccessor(buffer), version);
            if (buffer.hasRemaining()) return "left over: " + buffer.remaining();
            return hex(MessageUtil.toByteBufferAccessor(message, version).buffer());
        } catch (RuntimeException error) {
            return error.toString().replace('\n', ' ');
        }
    }

    static String headers(short key, short version) {
        ApiMessageType api = ApiMessageType.fromApiKey(key);
        return api.requestHeaderVersion(version) + " " + api.responseHeaderVersion(version);
    }

    static void errors() {
        for (Errors error : Errors.values()) {
            boolean retriable = error.exception() instanceof RetriableException;
            OUT.println(error.code() + "\t" + error.name() + "\t" + retriable + "\t" + error.message());
        }
    }

    static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    static void connect() {
        var tasks = List.of(new ConnectorTaskId("sink", 0), new ConnectorTaskId("sink", 1));
        var url = "http://worker:8083/";
        var eager = new ConnectProtocol.Assignment((short) 1, "leader-1", url, 7L, List.of("source"), tasks);
        show("eager-state", ConnectProtocol.serializeMetadata(new ConnectProtocol.WorkerState(url, 42L)));
        show("eager-assignment", ConnectProtocol.serializeAssignment(eager));
        for (short version = 1; version <= 2; version++) {
            var assignment = new ExtendedAssignment(version, (short) 0, "leader-1", url, 7L, List.of("source"),
                    tasks, List.of(), List.of(new ConnectorTaskId("old", 3)), 300_000);
            var sessioned = version == 2;
            show("assignment-" + version,
                    IncrementalCooperativeConnectProtocol.serializeAssignment(assignment, sessioned));
            show("state-" + version, IncrementalCooperativeConnectProtocol.serializeMetadata(
                    new ExtendedWorkerState(url, 42L, assignment), sessioned));
            show("fresh-" + version, IncrementalCooperativeConnectProtocol.serializeMetadata(
                    new ExtendedWorkerState(url, 42L, null), sessioned));
        }
    }

    static void show(String name, ByteBuffer buffer) {
        OUT.println(name + " " + hex(buffer));
    }
}
