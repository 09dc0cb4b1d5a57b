import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs classes one after the other in this JVM; on the command line they are separated by {@code --then}. The last class
 * is run by its method {@code main}. The classes before it are run by {@code execute}, as {@code StorageTool} has it: it
 * returns an exit code, and the next class starts if the code is 0. The JVM exits when standard input is closed, so that
 * it never outlives its parent process.
 */
public final class Launch {
    public static void main(String[] args) throws Exception {
        endWithStandardInput();
        List<String> program = new ArrayList<>();
        for (String arg : args) {
            if (arg.equals("--then")) {
                execute(program);
                program.clear();
            } else {
                program.add(arg);
            }
        }
        Class.forName(program.get(0)).getMethod("main", String[].class).invoke(null, (Object) arguments(program));
    }

    private static void execute(List<String> program) throws Exception {
        int code = (int) Class.forName(program.get(0)).getMethod("execute", String[].class, PrintStream.class)
            .invoke(null, arguments(program), System.out);
        if (code != 0) {
            System.err.println(program.get(0) + " ended with exit code " + code);
            Runtime.getRuntime().halt(code);
        }
    }

    private static String[] arguments(List<String> program) {
        return program.subList(1, program.size()).toArray(new String[0]);
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
