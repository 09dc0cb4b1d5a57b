import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Creates Empty groups: {@code EmptyConsumerGroups BOOTSTRAP TOPIC OFFSET GROUP=PROTOCOL...}, where PROTOCOL is
 * {@code classic} or {@code consumer}. One member joins each group with this protocol, commits OFFSET for every partition
 * of TOPIC, and leaves. The program then prints {@code READY} and exits.
 */
public final class EmptyConsumerGroups {
    public static void main(String[] args) {
        for (int i = 3; i < args.length; i++) {
            String[] group = args[i].split("=");
            Properties config = new Properties();
            config.put("bootstrap.servers", args[0]);
            config.put("group.id", group[0]);
            config.put("group.protocol", group[1]);
            config.put("enable.auto.commit", "false");
            try (KafkaConsumer<String, String> member =
                    new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
                member.subscribe(List.of(args[1]));
                while (member.assignment().isEmpty()) {
                    member.poll(Duration.ofMillis(100));
                }
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (TopicPartition partition : member.assignment()) {
                    offsets.put(partition, new OffsetAndMetadata(Long.parseLong(args[2]), "left behind"));
                }
                member.commitSync(offsets);
            }
        }
        System.out.println("READY");
    }
}
