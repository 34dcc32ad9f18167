import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/**
 * One OpenSearch node, started from its libraries, since the server's archive is in no package
 * registry. usage: SearchNode DATA_DIR HTTP_PORT TRANSPORT_PORT [SETTING=VALUE...]
 */
public final class SearchNode extends Node {
    private static final String NAME = "node-1";

    private SearchNode(Settings settings) {
        super(new Environment(settings, null),
            List.of(Netty4Plugin.class, CommonAnalysisPlugin.class), true);
    }

    public static void main(String[] args) throws Exception {
        Settings settings = settings(args);
        LogConfigurator.setNodeName(NAME);
        LogConfigurator.configureWithoutConfig(settings);
        SearchNode node = new SearchNode(settings);
        CountDownLatch closed = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node, closed)));
        node.start();
        System.out.println("node started");
        closed.await();
    }

    private static Settings settings(String[] args) {
        Path home = Path.of(args[0]).toAbsolutePath();
        Settings.Builder settings = Settings.builder()
            .put("path.home", home)
            .put("path.data", home.resolve("data"))
            .put("path.logs", home.resolve("logs"))
            .put("cluster.name", "riverhog-tests")
            .put("node.name", NAME)
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", args[1])
            .put("transport.port", args[2])
            .put("http.type", "netty4")
            .put("transport.type", "netty4")
            // A full disk on the test machine must not turn the indices read-only.
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            // Tests make an index a day and topic; the default of 1,000 is soon reached.
            .put("cluster.max_shards_per_node", 10000);
        for (String extra : List.of(args).subList(3, args.length)) {
            String[] pair = extra.split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        return settings.build();
    }

    private static void close(SearchNode node, CountDownLatch closed) {
        try {
            node.close();
        } catch (Exception e) {
            e.printStackTrace();
        }
        closed.countDown();
    }
}
