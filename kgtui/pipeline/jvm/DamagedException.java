package kgtui.spark;

/** Thrown if bytes do not match the table of a message. The text is the reason in table {@code quarantine}. */
class DamagedException extends RuntimeException {
    DamagedException(String reason) {
        super(reason, null, false, false);
    }
}
