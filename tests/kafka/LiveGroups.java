import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.connect.cli.ConnectDistributed;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.Stores;

/**
 * Runs a Connect worker, and groups of the types that are named on the command line, in one JVM:
 * {@code LiveGroups BOOTSTRAP WORKER.PROPERTIES [share] [streams]}. Share groups need the topics {@code jobs} and
 * {@code idle-jobs}, streams groups need {@code words} and {@code stopped-words}. The topics must be empty, each with
 * {@value #PARTITIONS} partitions. Each group reads {@value #READ} records of each partition. The program then produces
 * {@value #LEFT} more records per partition, which the group does not read. The program prints {@code READY} and a type
 * when the groups of this type are ready, and keeps the members alive until standard input is closed.
 */
public final class LiveGroups {
    static final int FIRST_READ = 6;
    static final int READ = 10;
    static final int LEFT = 5;
    static final int PARTITIONS = 2;

    private final String bootstrap;
    private final Admin admin;
    private final KafkaProducer<String, String> producer;

    private LiveGroups(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        this.producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", bootstrap, "linger.ms", 10_000), new StringSerializer(), new StringSerializer());
    }

    public static void main(String[] args) throws Exception {
        new Thread(() -> ConnectDistributed.main(new String[] {args[1]}), "connect").start();
        LiveGroups groups = new LiveGroups(args[0]);
        List<String> types = List.of(args).subList(2, args.length);
        if (types.contains("share")) {
            start("share", () -> {
                groups.shareGroup("share-workers", "jobs", 2);
                groups.shareGroup("share-idle", "idle-jobs", 1).forEach(KafkaShareConsumer::close);
            });
        }
        if (types.contains("streams")) {
            start("streams", () -> {
                KafkaStreams stopped = groups.streamsGroup("streams-stopped", "stopped-words");
                groups.streamsGroup("streams-counts", "words");
                stopped.close(CloseOptions.timeout(Duration.ofSeconds(30))
                    .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
            });
        }
        while (System.in.read() != -1) {
        }
        Runtime.getRuntime().halt(0);
    }

    private interface Work {
        void run() throws Exception;
    }

    private static void start(String name, Work work) {
        new Thread(() -> {
            try {
                work.run();
                System.out.println("READY " + name);
            } catch (Throwable failure) {
                failure.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        }, name).start();
    }

    private Collection<KafkaShareConsumer<String, String>> shareGroup(String group, String topic, int members)
            throws Exception {
        configure(group, "share.auto.offset.reset", "earliest", "share.heartbeat.interval.ms", "500");
        List<KafkaShareConsumer<String, String>> consumers = new ArrayList<>();
        for (int i = 1; i <= members; i++) {
            Properties config = new Properties();
            config.put("bootstrap.servers", bootstrap);
            config.put("group.id", group);
            config.put("client.id", group + "-" + i);
            config.put("share.acknowledgement.mode", "explicit");
            config.put("max.poll.interval.ms", String.valueOf(Integer.MAX_VALUE));
            KafkaShareConsumer<String, String> consumer =
                new KafkaShareConsumer<>(config, new StringDeserializer(), new StringDeserializer());
            consumer.subscribe(List.of(topic));
            consumers.add(consumer);
        }
        // The stored start offset advances only with the next acknowledgement. Two rounds are needed to reach FIRST_READ.
        produce(topic, FIRST_READ);
        acceptAll(consumers, FIRST_READ * PARTITIONS);
        produce(topic, READ - FIRST_READ);
        acceptAll(consumers, (READ - FIRST_READ) * PARTITIONS);
        produce(topic, LEFT);
        return consumers;
    }

    private static void acceptAll(List<KafkaShareConsumer<String, String>> consumers, int records) {
        int accepted = 0;
        while (accepted < records) {
            for (KafkaShareConsumer<String, String> consumer : consumers) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    consumer.acknowledge(record);
                    accepted++;
                }
                consumer.commitSync();
            }
        }
    }

    private KafkaStreams streamsGroup(String group, String topic) throws Exception {
        configure(group, "streams.heartbeat.interval.ms", "500", "streams.initial.rebalance.delay.ms", "0");
        produce(topic, READ);
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("application.id", group);
        config.put("client.id", group);
        config.put("group.protocol", "streams");
        config.put("commit.interval.ms", "100");
        config.put("num.stream.threads", "1");
        config.put("auto.offset.reset", "earliest");
        config.put("state.dir", "streams-state");
        config.put("default.key.serde", Serdes.String().getClass().getName());
        config.put("default.value.serde", Serdes.String().getClass().getName());
        StreamsBuilder topology = new StreamsBuilder();
        topology.<String, String>stream(topic)
            .groupBy((key, value) -> value)
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")));
        KafkaStreams streams = new KafkaStreams(topology.build(), config);
        streams.start();
        // Each record is read twice: from the topic, and from the repartition topic.
        while (committed(group) < 2 * READ * PARTITIONS) {
            Thread.sleep(50);
        }
        streams.pause();
        produce(topic, LEFT);
        return streams;
    }

    private long committed(String group) throws Exception {
        return admin.listStreamsGroupOffsets(Map.of(group, new ListStreamsGroupOffsetsSpec()))
            .partitionsToOffsetAndMetadata(group).get().values().stream()
            .filter(Objects::nonNull).mapToLong(OffsetAndMetadata::offset).sum();
    }

    /** Produces one batch per partition, so that a consumer that is already waiting gets all records in one poll. */
    private void produce(String topic, int records) {
        for (int partition = 0; partition < PARTITIONS; partition++) {
            for (int i = 0; i < records; i++) {
                producer.send(new ProducerRecord<>(topic, partition, "key " + i, "value " + i));
            }
        }
        producer.flush();
    }

    private void configure(String group, String... pairs) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        for (int i = 0; i < pairs.length; i += 2) {
            changes.add(new AlterConfigOp(new ConfigEntry(pairs[i], pairs[i + 1]), AlterConfigOp.OpType.SET));
        }
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), changes))
            .all().get();
    }
}
