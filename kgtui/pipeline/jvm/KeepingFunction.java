package kgtui.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The SQL function {@code decode_keeping_ID(day, partition, offset, timestamp, key, value)}.
 *
 * <p>It returns the columns of an offset commit as a struct. For any other record, it returns null, and adds the record
 * to the {@link KeptRecords} with this id.
 */
public class KeepingFunction implements UnboundFunction, ScalarFunction {
    static final String PREFIX = "decode_keeping_";

    private final KeptRecords kept;

    KeepingFunction(KeptRecords kept) {
        this.kept = kept;
    }

    public String name() {
        return PREFIX + kept.id();
    }

    public String description() {
        return "decode offset commits, and keep all other records";
    }

    public BoundFunction bind(StructType inputType) {
        return this;
    }

    public DataType[] inputTypes() {
        return new DataType[] {
            DataTypes.DateType, DataTypes.IntegerType, DataTypes.LongType, DataTypes.TimestampType,
            DataTypes.BinaryType, DataTypes.BinaryType};
    }

    public DataType resultType() {
        return Tables.COMMIT;
    }

    public boolean isDeterministic() {
        return false;
    }

    public String canonicalName() {
        return "kgtui." + name();
    }

    /** Spark calls this method from the code that it generates. */
    public InternalRow invoke(int day, int partition, long offset, long timestamp, byte[] key, byte[] value) {
        InternalRow commit = RecordDecoder.commit(key, value);
        if (commit == null) {
            kept.add(KeptRecords.row(day, partition, offset, timestamp, key, value));
        }
        return commit;
    }
}
