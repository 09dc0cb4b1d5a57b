import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Scanner;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's GroupsCommand once per line of standard input, in one JVM. A line has the arguments, each in base64 after a
 * colon. The output line has the exit status, the standard output and the standard error, both in base64.
 */
public class GroupsOracle {
    static final class Stopped extends Error {
    }

    public static void main(String[] ignored) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true);
        Scanner lines = new Scanner(System.in, "UTF-8");
        while (lines.hasNextLine()) {
            String[] arguments = Arrays.stream(lines.nextLine().split(" "))
                .filter(word -> !word.isEmpty())
                .map(word -> new String(Base64.getDecoder().decode(word.substring(1)), StandardCharsets.UTF_8))
                .toArray(String[]::new);
            out.println(run(arguments));
        }
    }

    static String run(String[] arguments) throws Exception {
        ByteArrayOutputStream stdout = new ByteArrayOutputStream();
        ByteArrayOutputStream stderr = new ByteArrayOutputStream();
        System.setOut(new PrintStream(stdout, true, "UTF-8"));
        System.setErr(new PrintStream(stderr, true, "UTF-8"));
        String[] answer = new String[1];
        // Exit throws an exception here. The command may catch it and exit again, so only the first exit status is used.
        Exit.setExitProcedure((status, message) -> {
            if (answer[0] == null) {
                answer[0] = status + " :" + encode(stdout) + " :" + encode(stderr);
            }
            throw new Stopped();
        });
        try {
            org.apache.kafka.tools.GroupsCommand.main(arguments);
        } catch (Stopped expected) {
            // the exception that Exit throws
        }
        return answer[0];
    }

    static String encode(ByteArrayOutputStream bytes) {
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }
}
