import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.StaleMemberEpochException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.connect.cli.ConnectDistributed;

/**
 * Runs groups of consumers and a Connect worker in one JVM: {@code ConsumerGroups BOOTSTRAP WORKER.PROPERTIES TOPIC
 * GROUP...}. The program is for Kafka 3.9 brokers. librdkafka cannot join KIP-848 groups on these brokers, because they
 * support only version 0 of the heartbeat request.
 * GROUP has the form {@code id=protocols=offset}, such as {@code mixed=consumer,classic=70}. The group gets one member
 * per protocol, and the members commit this offset for each partition of TOPIC. If {@code =leave} follows, the members
 * then leave the group. The program prints {@code READY id} for each group, and keeps the members alive until standard
 * input is closed.
 */
public final class ConsumerGroups {
    public static void main(String[] args) throws Exception {
        new Thread(() -> ConnectDistributed.main(new String[] {args[1]}), "connect").start();
        for (int i = 3; i < args.length; i++) {
            String[] group = args[i].split("=");
            new Thread(() -> {
                try {
                    live(args[0], args[2], group);
                    System.out.println("READY " + group[0]);
                } catch (Throwable failure) {
                    failure.printStackTrace();
                    Runtime.getRuntime().halt(1);
                }
            }, group[0]).start();
        }
        while (System.in.read() != -1) {
        }
        Runtime.getRuntime().halt(0);
    }

    private static void live(String bootstrap, String topic, String[] group) {
        List<KafkaConsumer<String, String>> members = new ArrayList<>();
        for (String protocol : group[1].split(",")) {
            Properties config = new Properties();
            config.put("bootstrap.servers", bootstrap);
            config.put("group.id", group[0]);
            config.put("client.id", group[0] + "-" + (members.size() + 1));
            config.put("group.protocol", protocol);
            config.put("enable.auto.commit", "false");
            config.put("auto.offset.reset", "earliest");
            config.put("max.poll.interval.ms", String.valueOf(Integer.MAX_VALUE));
            KafkaConsumer<String, String> member =
                new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
            member.subscribe(List.of(topic));
            members.add(member);
        }
        pollUntilAssigned(members, members.get(0).partitionsFor(topic).size());
        for (KafkaConsumer<String, String> member : members) {
            member.pause(member.assignment());
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (TopicPartition partition : member.assignment()) {
                offsets.put(partition, new OffsetAndMetadata(Long.parseLong(group[2])));
            }
            member.commitSync(offsets);
        }
        if (group.length > 3) {
            members.forEach(KafkaConsumer::close);
        }
    }

    /** Polls once. If the member's epoch is older than the group's, the poll fails, and the next poll succeeds. */
    private static void poll(KafkaConsumer<String, String> member) {
        try {
            member.poll(Duration.ofMillis(50));
        } catch (StaleMemberEpochException rebalancing) {
            System.err.println("the poll is repeated: " + rebalancing);
        }
    }

    private static void pollUntilAssigned(List<KafkaConsumer<String, String>> members, int partitions) {
        while (true) {
            int assigned = 0;
            int idle = 0;
            for (KafkaConsumer<String, String> member : members) {
                poll(member);
                assigned += member.assignment().size();
                idle += member.assignment().isEmpty() ? 1 : 0;
            }
            if (assigned == partitions && idle == 0) {
                return;
            }
        }
    }
}
