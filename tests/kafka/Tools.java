import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Scanner;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command line tools one after the other in one JVM. Each line of standard input contains the main class of a
 * tool and the arguments of the tool. Each of these words is a colon followed by the word in base64. For each tool, the
 * program writes one line with the exit status, and with the standard output and the standard error of the tool, each as
 * a colon followed by the text in base64.
 */
public final class Tools {
    private static final class Left extends Error {
        private static final long serialVersionUID = 1L;
    }

    public static void main(String[] ignored) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8);
        while (lines.hasNextLine()) {
            String[] words = Arrays.stream(lines.nextLine().split(" "))
                .map(word -> new String(Base64.getDecoder().decode(word.substring(1)), StandardCharsets.UTF_8))
                .toArray(String[]::new);
            out.println(run(words[0], Arrays.copyOfRange(words, 1, words.length)));
        }
        Runtime.getRuntime().halt(0);
    }

    private static String run(String mainClass, String[] arguments) throws Exception {
        ByteArrayOutputStream stdout = new ByteArrayOutputStream();
        ByteArrayOutputStream stderr = new ByteArrayOutputStream();
        System.setOut(new PrintStream(stdout, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(stderr, true, StandardCharsets.UTF_8));
        // A tool may catch the exception that Exit throws, and exit again. Only the first exit status is used.
        String[] answer = new String[1];
        Exit.setExitProcedure((status, message) -> {
            if (answer[0] == null) {
                answer[0] = status + " :" + encode(stdout) + " :" + encode(stderr);
            }
            throw new Left();
        });
        try {
            Class.forName(mainClass).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException ended) {
            if (answer[0] == null) {
                ended.getCause().printStackTrace();
                return "1 :" + encode(stdout) + " :" + encode(stderr);
            }
        }
        return answer[0] != null ? answer[0] : "0 :" + encode(stdout) + " :" + encode(stderr);
    }

    private static String encode(ByteArrayOutputStream bytes) {
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }
}
