import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/**
 * Creates Empty share and streams groups: {@code EmptyNewerGroups BOOTSTRAP TOPIC GROUP=TYPE...}, where TYPE is
 * {@code share} or {@code streams}. Each group reads some records of TOPIC, which must exist. The program prints
 * {@code READY} and exits.
 */
public final class EmptyNewerGroups {
    public static void main(String[] args) throws Exception {
        for (int i = 2; i < args.length; i++) {
            String[] group = args[i].split("=");
            if (group[1].equals("share")) {
                share(args[0], group[0], args[1]);
            } else {
                streams(args[0], group[0], args[1]);
            }
        }
        System.out.println("READY");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void share(String bootstrap, String group, String topic) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            AlterConfigOp earliest =
                new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(
                Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), List.of(earliest))).all().get();
        }
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("group.id", group);
        config.put("share.acknowledgement.mode", "explicit");
        try (KafkaShareConsumer<String, String> member =
                new KafkaShareConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            member.subscribe(List.of(topic));
            for (int read = 0; read == 0;) {
                for (ConsumerRecord<String, String> record : member.poll(Duration.ofMillis(200))) {
                    member.acknowledge(record);
                    read++;
                }
                member.commitSync();
            }
        }
    }

    private static void streams(String bootstrap, String group, String topic) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("application.id", group);
        config.put("group.protocol", "streams");
        config.put("commit.interval.ms", "100");
        config.put("auto.offset.reset", "earliest");
        config.put("state.dir", "streams-state-" + group);
        config.put("default.key.serde", Serdes.String().getClass().getName());
        config.put("default.value.serde", Serdes.String().getClass().getName());
        StreamsBuilder topology = new StreamsBuilder();
        topology.<String, String>stream(topic).foreach((key, value) -> { });
        KafkaStreams streams = new KafkaStreams(topology.build(), config);
        streams.start();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            while (admin.listStreamsGroupOffsets(Map.of(group, new ListStreamsGroupOffsetsSpec()))
                    .partitionsToOffsetAndMetadata(group).get().isEmpty()) {
                Thread.sleep(50);
            }
        }
        streams.close(CloseOptions.timeout(Duration.ofSeconds(30))
            .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    }
}
