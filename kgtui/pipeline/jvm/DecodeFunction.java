package kgtui.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The SQL function {@code decode(key, value)}, which decodes one record of {@code __consumer_offsets}.
 *
 * <p>The result is a struct of three structs: {@code commit}, {@code event} and {@code quarantine}. Exactly one of them
 * is not null. {@code kgtui.pipeline.transforms.record_decoding} defines the fields.
 */
public class DecodeFunction implements UnboundFunction, ScalarFunction {
    static final String NAME = "decode";

    public String name() {
        return NAME;
    }

    public String description() {
        return "decode(key, value): decode one record of __consumer_offsets";
    }

    public BoundFunction bind(StructType inputType) {
        return this;
    }

    public DataType[] inputTypes() {
        return new DataType[] {DataTypes.BinaryType, DataTypes.BinaryType};
    }

    public DataType resultType() {
        return Tables.RESULT;
    }

    public boolean isResultNullable() {
        return false;
    }

    /**
     * Returns false, although equal records have equal results. Otherwise, Spark would call the function several times
     * per row if a filter uses its result.
     */
    public boolean isDeterministic() {
        return false;
    }

    public String canonicalName() {
        return "kgtui.decode";
    }

    /** Spark calls this static method directly from the code that it generates. */
    public static InternalRow invoke(byte[] key, byte[] value) {
        return RecordDecoder.decode(key, value);
    }
}
