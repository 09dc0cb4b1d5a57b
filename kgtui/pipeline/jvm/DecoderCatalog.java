package kgtui.spark;

import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A Spark catalog with the SQL functions {@link DecodeFunction} and {@link KeepingFunction}. */
public class DecoderCatalog implements FunctionCatalog {
    private String name;

    public void initialize(String name, CaseInsensitiveStringMap options) {
        this.name = name;
    }

    public String name() {
        return name;
    }

    public Identifier[] listFunctions(String[] namespace) {
        return new Identifier[0];
    }

    public UnboundFunction loadFunction(Identifier identifier) throws NoSuchFunctionException {
        String function = identifier.name();
        if (identifier.namespace().length == 0 && function.equals(DecodeFunction.NAME)) {
            return new DecodeFunction();
        }
        if (identifier.namespace().length == 0 && function.startsWith(KeepingFunction.PREFIX)) {
            return new KeepingFunction(
                KeptRecords.of(Long.parseLong(function.substring(KeepingFunction.PREFIX.length()))));
        }
        throw new NoSuchFunctionException(identifier);
    }
}
