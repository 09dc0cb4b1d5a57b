package kgtui.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/** The columns of {@code group_events}, as {@code kgtui.pipeline.transforms.group_events} computes them. */
class EventColumns {
    private static final String[] STATES = {"STABLE", "UNREVOKED", "UNRELEASED"};
    private static final Comparator BY_CODE_POINT = new ByCodePoint();

    private final Object[] row = new Object[Tables.EVENT.length()];

    private EventColumns() {
    }

    /**
     * Returns the columns for a record. Throws DamagedException if a time is not valid.
     *
     * @param value value of the record; null for a tombstone
     * @param version version of the value; null for a tombstone
     */
    static Object[] of(Tables.RecordType type, Message.Node key, Message.Node value, Integer version) {
        EventColumns columns = new EventColumns();
        String member = key.text("MemberId");
        columns.set("group", key.has("GroupId") ? key.text("GroupId") : key.text("group"));
        columns.set("type", type.groupType);
        columns.set("record", type.record);
        columns.set("about", type.about);
        columns.set("member_id", member);
        columns.put("tombstone", Boolean.valueOf(value == null));
        if (value != null) {
            StringBuilder detail = new StringBuilder("{\"version\":").append(version).append(",\"data\":");
            Json.node(detail, value);
            columns.set("detail", detail.append('}').toString());
            if (type.groupType.equals("classic")) {
                columns.addClassic(value);
            } else {
                columns.addWithEpochs(type.about, member, value);
            }
        }
        return columns.row;
    }

    private void put(String column, Object value) {
        row[Tables.EVENT.fieldIndex(column)] = value;
    }

    private void set(String column, String text) {
        put(column, UTF8String.fromString(text));
    }

    private void setInt(String column, long number) {
        put(column, Integer.valueOf((int) number));
    }

    private void addClassic(Message.Node value) {
        List members = value.list("members");
        List ids = new ArrayList();
        for (int i = 0; i < members.size(); i++) {
            ids.add(((Message.Node) members.get(i)).text("memberId"));
        }
        long since = value.number("currentStateTimestamp");
        setInt("epoch", value.number("generation"));
        set("state", members.isEmpty() ? "Empty" : "Stable");
        put("state_time", since < 0 ? null : RecordDecoder.micros("state_time", since));
        set("protocol_type", value.text("protocolType"));
        set("protocol", value.text("protocol"));
        set("leader", value.text("leader"));
        setInt("members", members.size());
        set("member_ids", sortedArray(ids));
        set("assignment", value.text("protocolType").equals("consumer") ? classicAssignment(members) : null);
    }

    /** Returns the assignment of all members as JSON; null if it is not in the format of Kafka's consumer. */
    private static String classicAssignment(List members) {
        Map assignments = new LinkedHashMap();
        for (int i = 0; i < members.size(); i++) {
            Message.Node member = (Message.Node) members.get(i);
            List names = consumerPartitions((byte[]) member.get("assignment"));
            if (names == null) {
                assignments.put(member.text("memberId"), null);
            } else {
                assignments.put(member.text("memberId"), sortedArray(names));
            }
        }
        return assignments.containsValue(null) ? null : object(assignments);
    }

    /** Returns the partitions (topic-partition) in a consumer's assignment; null if it is malformed. */
    private static List consumerPartitions(byte[] assignment) {
        if (assignment.length < 2 || assignment[0] < 0) {
            return null;
        }
        try {
            return partitions(MessageReader.read(Tables.ASSIGNMENT, assignment, 2).list("AssignedPartitions"));
        } catch (DamagedException error) {
            return null;
        }
    }

    private void addWithEpochs(String about, String member, Message.Node value) {
        if (about.equals("group")) {
            setInt("epoch", value.number("Epoch"));
        } else if (about.equals("member")) {
            set("client_id", value.text("ClientId"));
            set("host", value.text("ClientHost"));
            set("instance_id", value.text("InstanceId"));
            set("protocol", value.text("ServerAssignor"));
        } else if (about.equals("target")) {
            long at = value.number("AssignmentTimestamp");
            setInt("epoch", value.number("AssignmentEpoch"));
            put("state_time", at > 0 ? RecordDecoder.micros("state_time", at) : null);
        } else if (about.equals("target_member")) {
            addAssignment(member, value.list(value.has("TopicPartitions") ? "TopicPartitions" : "ActiveTasks"));
        } else if (about.equals("current")) {
            long state = value.number("State");
            setInt("epoch", value.number("MemberEpoch"));
            set("state", state < 0 || state >= STATES.length ? "UNKNOWN" : STATES[(int) state]);
            addAssignment(member, value.list(value.has("AssignedPartitions") ? "AssignedPartitions" : "ActiveTasks"));
        }
    }

    private void addAssignment(String member, List tasks) {
        Map assignment = new LinkedHashMap();
        assignment.put(member, sortedArray(partitions(tasks)));
        set("assignment", object(assignment));
    }

    /** Returns the names of partitions or tasks: topic, topic id or subtopology, and the partition. */
    private static List partitions(List rows) {
        List names = new ArrayList();
        for (int i = 0; i < rows.size(); i++) {
            Message.Node row = (Message.Node) rows.get(i);
            String owner = row.has("TopicId") ? Json.uuid((byte[]) row.get("TopicId"), 0)
                : row.text(row.has("Topic") ? "Topic" : "SubtopologyId");
            List numbers = row.list("Partitions");
            for (int j = 0; j < numbers.size(); j++) {
                names.add(owner + "-" + numbers.get(j));
            }
        }
        return names;
    }

    private static String sortedArray(List texts) {
        Collections.sort(texts, BY_CODE_POINT);
        StringBuilder out = new StringBuilder();
        Json.strings(out, texts);
        return out.toString();
    }

    /** Returns a JSON object, with spaces after colons and commas. The values of the map are JSON. */
    private static String object(Map members) {
        StringBuilder out = new StringBuilder("{");
        for (Iterator all = members.entrySet().iterator(); all.hasNext();) {
            Map.Entry entry = (Map.Entry) all.next();
            out.append(out.length() == 1 ? "" : ", ");
            Json.string(out, (String) entry.getKey());
            out.append(": ").append(entry.getValue());
        }
        return out.append('}').toString();
    }

    /** The order in which Python sorts strings. */
    private static class ByCodePoint implements Comparator {
        public int compare(Object left, Object right) {
            String a = (String) left;
            String b = (String) right;
            int shorter = Math.min(a.length(), b.length());
            for (int i = 0; i < shorter; i++) {
                if (a.charAt(i) != b.charAt(i)) {
                    boolean middle = i > 0 && Character.isHighSurrogate(a.charAt(i - 1));
                    int start = middle ? i - 1 : i;
                    return a.codePointAt(start) - b.codePointAt(start);
                }
            }
            return a.length() - b.length();
        }
    }
}
