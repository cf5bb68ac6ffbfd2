import type { Logger } from "pino";
import type { Config, Environment } from "../../config.ts";
import { watchUse } from "../../metrics/process.ts";
import { type MetricValues, type ProcessValues, registry, sumOf } from "../../metrics/registry.ts";
import { within } from "../../primitives/within.ts";
import { runningProgram } from "../program.ts";
import { type FromProcess, numberVariable, type Started, type ToProcess } from "./messages.ts";

/** The pause before a process is started again: doubled at each end that follows within a minute. */
const firstPauseMs = 100;
const longestPauseMs = 30_000;
const steadyMs = 60_000;
/** The time that a process has to end beyond SHUTDOWN_TIMEOUT_MS. */
const stopSlackMs = 10_000;
/** The time that a process has to tell its values for a page of metrics. After it, the last ones count. */
const valuesMs = 2_000;

/** How often each process is asked whether it answers, and how many questions in a row it may leave unanswered before it is killed. */
export interface Patience {
  everyMs: number;
  questions: number;
}

const halfAMinute: Patience = { everyMs: 5_000, questions: 6 };

/** One of the processes, from its start to its end. */
interface Running {
  started: Promise<Started>;
  /** Resolves with the exit code or the signal. */
  ended: Promise<number | string>;
  tell(message: ToProcess): void;
  /** Its values for the metrics, as it told them last. */
  values: ProcessValues;
  /** Requests its values, and resolves when it has told them or has ended. */
  askValues(): Promise<void>;
  /** The questions since its last message. They are counted instead of the time, which passes while the whole machine sleeps. */
  unanswered: number;
  kill(): void;
}

/**
 * Runs the service in several processes that listen at the same ports. This process serves nothing: it starts the others, starts one that
 * ends again, kills one that hangs, passes on signals, and adds up the metrics. The first process starts alone: it changes the schema, makes
 * the first key, and finds free ports if they are 0.
 */
export async function serveByMany(
  config: Config,
  log: Logger,
  announce: (started: Started) => void,
  { everyMs, questions } = halfAMinute,
): Promise<number> {
  const running = new Set<Running>();
  const stopping = Promise.withResolvers<void>();
  const own = registry();
  const { restarted } = watchUse(own);
  /** The counters of the processes that have ended. */
  let endedCounters: MetricValues = {};
  let isStopping = false;
  let ports: Environment = {};

  function launch(number: number): Running {
    const one: Running = startProcess({ ...ports, [numberVariable]: String(number) }, (message) => {
      void valuesBeside(one).then((values) => one.tell({ kind: "others", question: message.question, values }));
    });
    running.add(one);
    const watch = setInterval(() => {
      if (one.unanswered === questions) {
        log.error({ process: number, unanswered_ms: questions * everyMs }, "a process does not answer and is killed");
        one.kill();
      }
      one.unanswered += 1;
      one.tell({ kind: "alive" });
    }, everyMs);
    void one.ended.then(() => {
      clearInterval(watch);
      running.delete(one);
      endedCounters = sumOf(endedCounters, one.values.counters);
    });
    return one;
  }

  /** The values of all processes but one, with those of this process and of the ended ones. */
  async function valuesBeside(asker: Running): Promise<ProcessValues[]> {
    const others = () => [...running].filter((each) => each !== asker);
    const told = Promise.all(others().map((each) => each.askValues()));
    await within(valuesMs, told, () => undefined);
    const parent = await own.values();
    return [parent, { counters: endedCounters, gauges: {} }, ...others().map(({ values }) => values)];
  }

  /** Starts a process again whenever it ends, until the service stops. */
  async function keepUp(number: number, first: Running): Promise<void> {
    let one = first;
    let pauseMs = firstPauseMs;
    for (;;) {
      const startMs = performance.now();
      const reason = await one.ended;
      if (isStopping) return;
      if (performance.now() - startMs >= steadyMs) pauseMs = firstPauseMs;
      log.error({ process: number, reason, pause_ms: pauseMs }, "a process ended");
      await within(pauseMs, stopping.promise, () => undefined);
      if (isStopping) return;
      pauseMs = Math.min(2 * pauseMs, longestPauseMs);
      restarted.add();
      one = launch(number);
      one.started.then(
        () => log.info({ process: number }, "a process was started again"),
        (error: unknown) => {
          if (!isStopping) log.error({ process: number, err: error }, "a process could not be started");
          one.kill();
        },
      );
    }
  }

  /** Ends all processes. Returns the exit code: 0 if each has finished its work. */
  async function stopAll(): Promise<number> {
    isStopping = true;
    stopping.resolve();
    for (const each of running) each.tell({ kind: "stop" });
    const late = setTimeout(() => {
      log.error("a process did not stop in time");
      for (const each of running) each.kill();
    }, config.shutdownTimeoutMs + stopSlackMs);
    const reasons = await Promise.all(Array.from(running, ({ ended }) => ended));
    clearTimeout(late);
    return reasons.every((reason) => reason === 0) ? 0 : 1;
  }

  const { promise: stopped, resolve: stopWith } = Promise.withResolvers<number>();
  function stop(signal: NodeJS.Signals): void {
    // A second signal ends everything at once. Acknowledged mail is on disk anyway.
    if (isStopping) {
      for (const each of running) each.kill();
      process.exit(0);
    }
    log.info({ signal }, "stopping");
    void stopAll().then((code) => {
      if (code === 0) log.info("stopped");
      stopWith(code);
    });
  }
  process.on("SIGTERM", stop).on("SIGINT", stop);
  process.on("SIGHUP", () => {
    for (const each of running) each.tell({ kind: "reload" });
  });

  try {
    const first = launch(1);
    const started = await first.started;
    ports = portsOf(started);
    const others = Array.from({ length: config.processes - 1 }, (_, index) => launch(index + 2));
    await Promise.all(others.map((each) => each.started));
    if (isStopping) return stopped;
    announce(started);
    for (const [index, each] of [first, ...others].entries()) void keepUp(index + 1, each);
  } catch (error) {
    if (isStopping) return stopped;
    await stopAll();
    throw error;
  }
  return stopped;
}

/** The ports of the first process, for all others. */
function portsOf({ apiUrl, smtp, metricsUrl }: Started): Environment {
  const portOf = (url: string) => new URL(url).port || "80";
  return {
    PORT: portOf(apiUrl),
    SMTP_PORT: String(smtp.port),
    ...(process.env.METRICS_PORT && metricsUrl !== undefined && { METRICS_PORT: portOf(metricsUrl) }),
  };
}

function startProcess(environment: Environment, onAsked: (message: FromProcess & { kind: "others" }) => void): Running {
  const started = Promise.withResolvers<Started>();
  let told: PromiseWithResolvers<void> | undefined;
  const child = Bun.spawn([...runningProgram(), "serve"], {
    // With this flag, the kernel kills the process when this one dies.
    env: { ...process.env, ...environment, BUN_FEATURE_FLAG_NO_ORPHANS: "1" },
    stdio: ["ignore", "inherit", "inherit"],
    ipc(message: FromProcess) {
      one.unanswered = 0;
      if (message.kind === "started") started.resolve(message.started);
      else if (message.kind === "failed") started.reject(new Error(message.reason));
      else if (message.kind === "others") onAsked(message);
      else if (message.kind === "values") {
        one.values = message.values;
        told?.resolve();
        told = undefined;
      }
    },
  });
  const one: Running = {
    started: started.promise,
    ended: child.exited.then((code) => child.signalCode ?? code),
    tell(message) {
      // A process that has just died takes no message.
      try {
        child.send(message);
      } catch {}
    },
    values: { counters: {}, gauges: {} },
    askValues() {
      told ??= Promise.withResolvers();
      one.tell({ kind: "values" });
      return told.promise;
    },
    unanswered: 0,
    kill: () => child.kill("SIGKILL"),
  };
  void one.ended.then((reason) => {
    started.reject(new Error(`Cannot start: a process ended with ${reason}`));
    told?.resolve();
  });
  started.promise.catch(() => undefined);
  return one;
}
