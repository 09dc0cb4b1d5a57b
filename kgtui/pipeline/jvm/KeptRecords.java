package kgtui.spark;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.AccumulatorV2;

/**
 * The records that {@link KeepingFunction} could not decode into commits, collected on the driver.
 *
 * <p>Spark therefore reads the records only once. If the collected records are larger than {@code MAX_BYTES} in total,
 * none is kept.
 */
public class KeptRecords extends AccumulatorV2 {
    private static final long MAX_BYTES = 32L << 20;
    /** Memory of a kept record in addition to its key and value, in bytes. */
    private static final long ROW_BYTES = 200;
    private static final Map INSTANCES = new ConcurrentHashMap();
    private static final StructType SCHEMA = new StructType()
        .add("day", DataTypes.IntegerType)
        .add("partition", DataTypes.IntegerType)
        .add("offset", DataTypes.LongType)
        .add("timestamp", DataTypes.LongType)
        .add("key", DataTypes.BinaryType)
        .add("value", DataTypes.BinaryType);

    private List rows = new ArrayList();
    private long bytes;

    /** Creates an empty collection, and returns its id. */
    public static long create(SparkContext context) {
        KeptRecords kept = new KeptRecords();
        context.register(kept);
        INSTANCES.put(Long.valueOf(kept.id()), kept);
        return kept.id();
    }

    /** Returns the collection with an id; null if there is none. */
    static KeptRecords of(long id) {
        return (KeptRecords) INSTANCES.get(Long.valueOf(id));
    }

    /**
     * Removes a collection, and returns its records; null if their number is not {@code expected}. Days and times are
     * numbers. A record that was kept twice, because Spark has repeated a task, is counted and returned once.
     */
    public static Dataset take(long id, SparkSession session, long expected) {
        KeptRecords kept = (KeptRecords) INSTANCES.remove(Long.valueOf(id));
        Map byPosition = new LinkedHashMap();
        for (int i = 0; i < kept.rows.size(); i++) {
            Row row = (Row) kept.rows.get(i);
            byPosition.put(row.get(1) + "-" + row.get(2), row);
        }
        return byPosition.size() == expected ? session.createDataFrame(new ArrayList(byPosition.values()), SCHEMA) : null;
    }

    /** Returns true, because a heartbeat would serialize the records in another thread while a task adds records. */
    public boolean excludeFromHeartbeat() {
        return true;
    }

    public boolean isZero() {
        return bytes == 0;
    }

    public AccumulatorV2 copy() {
        KeptRecords copy = new KeptRecords();
        copy.addAll(this);
        return copy;
    }

    public void reset() {
        rows = new ArrayList();
        bytes = 0;
    }

    public void add(Object record) {
        Row row = (Row) record;
        count(ROW_BYTES + size(row.get(4)) + size(row.get(5)));
        if (bytes <= MAX_BYTES) {
            rows.add(row);
        }
    }

    public void merge(AccumulatorV2 other) {
        addAll((KeptRecords) other);
    }

    public Object value() {
        return rows;
    }

    private void addAll(KeptRecords other) {
        count(other.bytes);
        if (bytes <= MAX_BYTES) {
            rows.addAll(other.rows);
        }
    }

    private void count(long more) {
        bytes += more;
        if (bytes > MAX_BYTES) {
            rows.clear();
        }
    }

    private static long size(Object data) {
        return data == null ? 0 : ((byte[]) data).length;
    }

    static Row row(int day, int partition, long offset, long timestamp, byte[] key, byte[] value) {
        return RowFactory.create(new Object[] {
            Integer.valueOf(day), Integer.valueOf(partition), Long.valueOf(offset), Long.valueOf(timestamp), key, value});
    }
}
