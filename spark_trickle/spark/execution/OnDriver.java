import java.io.ByteArrayOutputStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.SparkOutOfMemoryError;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.ReturnAnswer;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.CollapseCodegenStages;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.arrow.ArrowConverters;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.exchange.Exchange;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;

/**
 * Runs a query over few rows in the thread that asks: Spark's own physical plan over one partition, without the job, the
 * tasks and the broadcasts that it takes otherwise. See on_driver.py.
 *
 * Janino compiles this, as it does the code that Spark generates: no lambdas, no generics.
 */
public final class OnDriver {
    /** How many rows a query may read to be run here; a setting of the session. Those that are here count a quarter. */
    private static final String MOST_ROWS = "spark.trickle.localQueryRows";

    /** They are opened one after the other; tasks of a job open theirs side by side. */
    private static final int MOST_FILES = 32;

    private static final int HERE = 4;

    /** Few rows may come to many: what is larger is brought by a job, which looks to the driver's memory. */
    private static final int MOST_BYTES = 1 << 27;

    private static final long BYTES_AT_ONCE = 1L << 24;

    private static final String[] SETTINGS = {
        // Nothing is sent anywhere: joins are made of sorted or hashed inputs.
        "spark.sql.autoBroadcastJoinThreshold", "-1",
        "spark.sql.join.preferSortMergeJoin", "false",
        "spark.sql.adaptive.enabled", "false",
        // What is exchanged here is not: there is no exchange to use again.
        "spark.sql.exchange.reuse", "false",
        // Rows of partitions are not repeated to meet others: all partitions are one here, and they would meet twice.
        "spark.sql.sources.v2.bucketing.enabled", "false"
    };

    /** No task has such a number: memory and locks of blocks are counted by task. */
    private static final AtomicLong NUMBERS = new AtomicLong(Long.MIN_VALUE);

    private static final WeakHashMap BESIDE = new WeakHashMap();

    /** The query is one that should run here, and its plan could not be made: it is to be run as a job. */
    public static final class Unplanned extends RuntimeException {
        public Unplanned(RuntimeException cause) {
            super(cause.getMessage(), cause);
        }
    }

    /**
     * The rows as Arrow streams, one after the other, as text: the gateway gives bytes one by one. null: it reads too much
     * for one thread, or takes an exchange.
     */
    public String run(Dataset frame) throws Exception {
        SparkSession asking = (SparkSession) frame.sparkSession();
        long most = Long.parseLong(asking.sessionState().conf().getConfString(MOST_ROWS, "0"));
        if (most == 0L) return null;
        LogicalPlan optimized = frame.queryExecution().optimizedPlan();
        // A subquery that is left is run as a job, before the query.
        if (!optimized.subqueriesAll().isEmpty()) return null;
        List files = new ArrayList();
        if (!isSmall(optimized, most, files)) return null;
        SparkSession session = beside(asking);
        scala.Option before = org.apache.spark.sql.classic.SparkSession$.MODULE$.getActiveSession();
        org.apache.spark.sql.classic.SparkSession$.MODULE$.setActiveSession(session);
        try {
            RDD computed = computed(session, unhinted(optimized));
            return computed == null ? null : rows(computed, frame.schema(), session.sessionState().conf());
        } catch (Unplanned unplanned) {
            throw unplanned;
        } catch (SparkOutOfMemoryError tooMuch) {
            // One task for all of it: it takes more memory than each of the tasks of a job.
            return null;
        } catch (Exception failure) {
            // A job tries again what cannot be read for a moment, and says which task failed where.
            if (!files.isEmpty()) return null;
            throw failure;
        } finally {
            if (before.isEmpty()) org.apache.spark.sql.classic.SparkSession$.MODULE$.clearActiveSession();
            else org.apache.spark.sql.classic.SparkSession$.MODULE$.setActiveSession((SparkSession) before.get());
        }
    }

    /** Whether a query reads few rows, of local relations and of files of Iceberg's, which are added to the list. */
    private static boolean isSmall(LogicalPlan plan, long most, List files) throws Exception {
        long rows = 0L;
        Iterator leaves = plan.collectLeaves().iterator();
        while (leaves.hasNext()) {
            Object leaf = leaves.next();
            if (leaf instanceof LocalRelation) {
                rows += ((LocalRelation) leaf).data().length() / HERE;
            } else if (leaf instanceof DataSourceV2ScanRelation) {
                long read = rowsOf(((DataSourceV2ScanRelation) leaf).scan(), files);
                if (read < 0L || files.size() > MOST_FILES) return false;
                rows += read;
            } else if (!(leaf instanceof OneRowRelation)) {
                return false;
            }
            if (rows > most) return false;
        }
        return true;
    }

    /** How many rows a scan of Iceberg's reads, about; -1: it is something else. */
    private static long rowsOf(Scan scan, List files) throws Exception {
        Method groups = null;
        for (Class kind = scan.getClass(); kind != null && groups == null; kind = kind.getSuperclass()) {
            if (!kind.getName().startsWith("org.apache.iceberg.spark.source.")) return -1L;
            Method[] declared = kind.getDeclaredMethods();
            for (int i = 0; i < declared.length; i++) {
                if (declared[i].getName().equals("taskGroups") && declared[i].getParameterCount() == 0) groups = declared[i];
            }
        }
        if (groups == null) return -1L;
        groups.setAccessible(true);
        long rows = 0L;
        java.util.Iterator listed = ((List) groups.invoke(scan, new Object[0])).iterator();
        while (listed.hasNext()) {
            org.apache.iceberg.ScanTaskGroup group = (org.apache.iceberg.ScanTaskGroup) listed.next();
            rows += group.estimatedRowsCount();
            files.addAll(group.tasks());
        }
        return rows;
    }

    /** Without wishes for broadcasts, which are for joins of tables that are spread. */
    private static LogicalPlan unhinted(LogicalPlan plan) {
        List made = new ArrayList();
        Iterator children = plan.children().iterator();
        while (children.hasNext()) made.add(unhinted((LogicalPlan) children.next()));
        if (made.isEmpty()) return plan;
        LogicalPlan found = (LogicalPlan) plan.withNewChildren(scala.jdk.javaapi.CollectionConverters.asScala(made).toSeq());
        if (!(found instanceof Join)) return found;
        Join join = (Join) found;
        return new Join(join.left(), join.right(), join.joinType(), join.condition(), JoinHint.NONE());
    }

    /** Nothing is computed yet: what goes wrong here is our fault, not the query's. */
    private static RDD computed(SparkSession session, LogicalPlan optimized) {
        try {
            SparkPlan plan = planned(session, optimized);
            if (plan == null) return null;
            RDD found = plan.execute();
            if (found.getNumPartitions() == 1) return found;
            throw new IllegalStateException(found.getNumPartitions() + " partitions of " + plan.nodeName());
        } catch (RuntimeException failure) {
            throw new Unplanned(failure);
        }
    }

    private static SparkPlan planned(SparkSession session, LogicalPlan optimized) {
        SparkPlan plan = org.apache.spark.sql.execution.QueryExecution$.MODULE$.createSparkPlan(
            session.sessionState().planner(), new ReturnAnswer(optimized));
        // Generated code is for several operators at once: it comes when there are no exchanges between them any more.
        List before = new ArrayList();
        List last = new ArrayList();
        Iterator rules = org.apache.spark.sql.execution.QueryExecution$.MODULE$.preparations(
            session, scala.Option.empty(), false).iterator();
        while (rules.hasNext()) {
            Object rule = rules.next();
            (rule instanceof CollapseCodegenStages ? last : before).add(rule);
        }
        plan = alone(prepared(before, plan));
        return plan == null ? null : prepared(last, plan);
    }

    private static SparkPlan prepared(List rules, SparkPlan plan) {
        return org.apache.spark.sql.execution.QueryExecution$.MODULE$.prepareForExecution(
            scala.jdk.javaapi.CollectionConverters.asScala(rules).toSeq(), plan);
    }

    /** The plan over one partition, in which nothing need be exchanged; null: it has what only runs in a job. */
    private static SparkPlan alone(SparkPlan plan) {
        if (plan instanceof Exchange && !(plan instanceof ShuffleExchangeExec)) return null;
        if (plan.getClass().getName().startsWith("org.apache.spark.sql.execution.python.")) return null;
        List made = new ArrayList();
        Iterator children = plan.children().iterator();
        while (children.hasNext()) {
            SparkPlan child = alone((SparkPlan) children.next());
            if (child == null) return null;
            made.add(child);
        }
        if (plan instanceof ShuffleExchangeExec) return (SparkPlan) made.get(0);
        SparkPlan found = made.isEmpty()
            ? plan
            : (SparkPlan) plan.withNewChildren(scala.jdk.javaapi.CollectionConverters.asScala(made).toSeq());
        return isSeveral(found) ? new CoalesceExec(1, found) : found;
    }

    /** Whether it makes a partition of each part of what it reads, or does not say that it makes one. */
    private static boolean isSeveral(SparkPlan plan) {
        if (plan.supportsColumnar()) return false; // what makes rows of its columns does
        return plan instanceof LocalTableScanExec || plan instanceof BatchScanExec || plan instanceof UnionExec
            || plan instanceof ColumnarToRowExec || plan.outputPartitioning().numPartitions() != 1;
    }

    private static String rows(RDD computed, StructType schema, SQLConf conf) throws Exception {
        SparkEnv env = SparkEnv.get();
        long number = NUMBERS.getAndIncrement();
        TaskMemoryManager memory = new TaskMemoryManager(env.memoryManager(), number);
        TaskContextImpl context = new TaskContextImpl(
            -1, 0, 0, number, 0, 1, memory, settings(conf), env.metricsSystem(), TaskMetrics.empty(), 1,
            scala.collection.immutable.Map$.MODULE$.empty());
        TaskContext before = TaskContext.get();
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        Throwable failed = null;
        env.blockManager().registerTask(number);
        org.apache.spark.TaskContext$.MODULE$.setTaskContext(context);
        try {
            Iterator batches = org.apache.spark.sql.execution.arrow.ArrowConverters$.MODULE$.toBatchWithSchemaIterator(
                computed.iterator(computed.partitions()[0], context), schema, 1000000L, BYTES_AT_ONCE, "UTC", true, false);
            while (batches.hasNext()) {
                found.write((byte[]) batches.next());
                if (found.size() > MOST_BYTES) return null;
            }
        } catch (Exception failure) {
            failed = failure;
            throw failure;
        } catch (Error failure) {
            failed = failure;
            throw failure;
        } finally {
            try {
                complete(context, failed);
            } finally {
                memory.cleanUpAllAllocatedMemory();
                env.blockManager().releaseAllLocksForTask(number);
                // The thread goes on to other things: with a task in it, it would read the settings of that task.
                if (before == null) org.apache.spark.TaskContext$.MODULE$.unset();
                else org.apache.spark.TaskContext$.MODULE$.setTaskContext(before);
            }
        }
        return java.util.Base64.getEncoder().encodeToString(found.toByteArray());
    }

    /** Whoever waits for the end of the task is told, of its failure first: files are closed then. */
    private static void complete(TaskContextImpl context, Throwable failed) {
        if (failed == null) {
            context.markTaskCompleted(scala.Option.empty());
            return;
        }
        // What goes wrong now is not why it failed.
        try {
            context.markTaskFailed(failed);
        } catch (Throwable later) {
            failed.addSuppressed(later);
        }
        try {
            context.markTaskCompleted(scala.Option.apply(failed));
        } catch (Throwable later) {
            failed.addSuppressed(later);
        }
    }

    /** What expressions look at when they are evaluated: a task has its settings as properties. */
    private static Properties settings(SQLConf conf) {
        Properties found = new Properties();
        Iterator known = conf.getAllConfs().iterator();
        while (known.hasNext()) {
            scala.Tuple2 each = (scala.Tuple2) known.next();
            if (((String) each._1()).startsWith("spark")) found.setProperty((String) each._1(), (String) each._2());
        }
        return found;
    }

    /**
     * Rows that are here as a relation, from an Arrow stream: what `createDataFrame` makes of them after many questions.
     * null: the session wants other types.
     */
    public Dataset relation(byte[] stream, String schema, SparkSession session) {
        if (session.sessionState().conf().arrowUseLargeVarTypes()) return null;
        java.nio.channels.ReadableByteChannel channel =
            java.nio.channels.Channels.newChannel(new java.io.ByteArrayInputStream(stream));
        Iterator batches = ArrowConverters$.MODULE$.getBatchesFromStream(channel);
        return ArrowConverters.toDataFrame(batches, schema, session);
    }

    /** A session that plans without exchanges, and otherwise as the given one does now. */
    private static synchronized SparkSession beside(SparkSession session) {
        SparkSession found = (SparkSession) BESIDE.get(session);
        if (found == null) {
            found = session.newSession();
            BESIDE.put(session, found);
        }
        SQLConf conf = found.sessionState().conf();
        scala.collection.immutable.Map wanted = session.sessionState().conf().getAllConfs();
        Iterator known = conf.getAllConfs().iterator();
        while (known.hasNext()) {
            String key = (String) ((scala.Tuple2) known.next())._1();
            if (!wanted.contains(key) && !isOurs(key)) conf.unsetConf(key);
        }
        Iterator settings = wanted.iterator();
        while (settings.hasNext()) {
            scala.Tuple2 each = (scala.Tuple2) settings.next();
            String key = (String) each._1();
            if (!isOurs(key) && !each._2().equals(conf.getConfString(key, null))) conf.setConfString(key, (String) each._2());
        }
        // Another thread may be planning with them: they are never without their values.
        for (int i = 0; i < SETTINGS.length; i += 2) {
            if (!SETTINGS[i + 1].equals(conf.getConfString(SETTINGS[i], null))) conf.setConfString(SETTINGS[i], SETTINGS[i + 1]);
        }
        return found;
    }

    private static boolean isOurs(String key) {
        for (int i = 0; i < SETTINGS.length; i += 2) if (SETTINGS[i].equals(key)) return true;
        return false;
    }
}
