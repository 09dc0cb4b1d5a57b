import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs main classes one after the other in this JVM; on the command line they are separated by {@code --then}. The JVM
 * exits when standard input is closed, so that it never outlives its parent process.
 */
public final class Launch {
    public static void main(String[] args) throws Exception {
        endWithStandardInput();
        List<String> program = new ArrayList<>();
        for (String arg : args) {
            if (arg.equals("--then")) {
                runAndReturn(program);
                program.clear();
            } else {
                program.add(arg);
            }
        }
        run(program);
    }

    private static void run(List<String> program) throws Exception {
        String[] rest = program.subList(1, program.size()).toArray(new String[0]);
        Class.forName(program.get(0)).getMethod("main", String[].class).invoke(null, (Object) rest);
    }

    /** Kafka's programs end by calling {@code Exit}. If the exit status is 0, the next program starts. */
    private static void runAndReturn(List<String> program) throws Exception {
        Exit.setExitProcedure((code, message) -> {
            throw new Left(code);
        });
        try {
            run(program);
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Left)) {
                throw thrown;
            }
            int code = ((Left) thrown.getCause()).code;
            if (code != 0) {
                System.err.println(program.get(0) + " ended with exit code " + code);
                Runtime.getRuntime().halt(code);
            }
        } finally {
            Exit.resetExitProcedure();
        }
    }

    private static final class Left extends RuntimeException {
        private static final long serialVersionUID = 1L;
        final int code;

        Left(int code) {
            this.code = code;
        }
    }

    private static void endWithStandardInput() {
        Thread watcher = new Thread(() -> {
            try {
                while (System.in.read() != -1) {
                }
            } catch (java.io.IOException closed) {
                // an error is treated like the end of the input
            }
            Runtime.getRuntime().halt(0);
        });
        watcher.setDaemon(true);
        watcher.start();
    }
}
