import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/**
 * Runs a streams group that never commits, because its tasks are paused before they read a record: {@code PausedStreams
 * BOOTSTRAP GROUP TOPIC}. The brokers must support streams groups, as in Kafka 4.2 and later. The program prints
 * {@code READY} when the tasks are assigned, and leaves the group when standard input is closed.
 */
public final class PausedStreams {
    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("application.id", args[1]);
        config.put("group.protocol", "streams");
        config.put("auto.offset.reset", "earliest");
        config.put("state.dir", "streams-state-" + args[1]);
        config.put("default.key.serde", Serdes.String().getClass().getName());
        config.put("default.value.serde", Serdes.String().getClass().getName());
        StreamsBuilder topology = new StreamsBuilder();
        topology.<String, String>stream(args[2]).foreach((key, value) -> { });
        KafkaStreams streams = new KafkaStreams(topology.build(), config);
        streams.pause();
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING) {
                System.out.println("READY");
            }
        });
        streams.start();
        while (System.in.read() != -1) {
        }
        streams.close(CloseOptions.timeout(Duration.ofSeconds(30))
            .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
        Runtime.getRuntime().halt(0);
    }
}
