package kgtui.spark;

/** Thrown if a record does not have the format of its type. The text becomes the reason in table {@code quarantine}. */
class DamagedException extends RuntimeException {
    DamagedException(String reason) {
        super(reason, null, false, false);
    }
}
