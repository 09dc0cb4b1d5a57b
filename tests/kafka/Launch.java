import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/**
 * Runs programs one after the other in this JVM. Each program is a class name with arguments, and {@code --then}
 * separates the programs on the command line. Of the last program, the method {@code main} is called. Of each other
 * program, such as {@code StorageTool}, the method {@code execute} is called, which returns an exit code. The next program
 * starts only if this code is 0; otherwise, the JVM exits with the code. The JVM also exits when standard input is closed,
 * so that it never outlives its parent process.
 */
public final class Launch {
    public static void main(String[] args) throws Exception {
        endWithStandardInput();
        // Kafka must use the class loader of this file to find the classes in this file, such as AnyToken, by name.
        Thread.currentThread().setContextClassLoader(Launch.class.getClassLoader());
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
                // A read error has the same effect as the end of the input: the JVM exits.
            }
            Runtime.getRuntime().halt(0);
        });
        watcher.setDaemon(true);
        watcher.start();
    }

    /**
     * Accepts every OAUTHBEARER token as a token of the user {@code admin}. Kafka's own handlers accept only JSON Web
     * Tokens, but the tokens for Amazon MSK are signed URLs.
     */
    public static final class AnyToken implements AuthenticateCallbackHandler {
        @Override
        public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
        }

        @Override
        public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
            for (Callback callback : callbacks) {
                if (!(callback instanceof OAuthBearerValidatorCallback)) {
                    throw new UnsupportedCallbackException(callback);
                }
                OAuthBearerValidatorCallback validation = (OAuthBearerValidatorCallback) callback;
                validation.token(new OAuthBearerToken() {
                    @Override
                    public String value() {
                        return validation.tokenValue();
                    }

                    @Override
                    public Set<String> scope() {
                        return Set.of();
                    }

                    @Override
                    public long lifetimeMs() {
                        return System.currentTimeMillis() + 900_000;
                    }

                    @Override
                    public String principalName() {
                        return "admin";
                    }

                    @Override
                    public Long startTimeMs() {
                        return System.currentTimeMillis();
                    }
                });
            }
        }

        @Override
        public void close() {
        }
    }
}
