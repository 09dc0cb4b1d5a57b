package kgtui.spark;

import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A Spark catalog that contains only the SQL function {@code decode(key, value)}. */
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
        if (identifier.namespace().length > 0 || !identifier.name().equals(DecodeFunction.NAME)) {
            throw new NoSuchFunctionException(identifier);
        }
        return new DecodeFunction();
    }
}
