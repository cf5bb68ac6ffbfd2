/**
 * Counters, gauges and histograms, and their text for Prometheus (exposition format 0.0.4). A caller keeps the object of a counter, so
 * that counting is one addition, without a look-up.
 */
export interface Registry {
  /** Defines a metric that counts up from 0. A caller gets the counter of each combination of labels once, and keeps it. */
  counter<Label extends string>(name: string, help: string, labels: readonly Label[]): Family<Label, Counter>;
  /** Defines a metric that counts values: for each bound, how many were at most as large as it. */
  histogram<Label extends string>(
    name: string,
    help: string,
    bounds: readonly number[],
    labels: readonly Label[],
  ): Family<Label, Histogram>;
  /**
   * Defines a metric whose values are read when the metrics are served. If `read` fails, the metric is left out. `across` says what the
   * values of several processes come to.
   */
  gauge(name: string, help: string, read: () => Samples | Promise<Samples>, across: Across): void;
  /** The text of all metrics for Prometheus, with the values of the other processes of the service, if there are any. */
  text(others?: readonly ProcessValues[]): Promise<string>;
  /** The values that other processes add to theirs. */
  values(): Promise<ProcessValues>;
}

/**
 * The value of a gauge over several processes: their sum, their smallest or largest value, or that of the process that answers, since each
 * would read the same (`same`). A `counter` is a sum that never goes down: the last value of an ended process stays in it.
 */
export type Across = "sum" | "least" | "most" | "same" | "counter";

/** The values of one process: by metric, then by sample, which is a name with labels. */
export interface ProcessValues {
  counters: MetricValues;
  gauges: MetricValues;
}

export type MetricValues = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Returns the counter or histogram with these labels. The first call makes it; from then on it is in the served text, even at 0. */
export type Family<Label extends string, Metric> = (labels: Readonly<Record<Label, string>>) => Metric;

export interface Counter {
  add(count?: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

/** The values of a gauge, each with its labels. */
export type Samples = readonly { labels?: Labels; value: number }[];
export type Labels = Readonly<Record<string, string>>;

export const contentType = "text/plain; version=0.0.4; charset=utf-8";

/** A metric: its head in the text, and its samples in their order. */
interface Metric {
  name: string;
  head: string;
  across: Across;
  read(): SampleLines | Promise<SampleLines>;
}

type SampleLines = readonly (readonly [sample: string, value: number])[];

export function registry(): Registry {
  const metrics = new Map<string, Metric>();

  function define(name: string, help: string, type: string, across: Across, read: Metric["read"]): void {
    if (!/^[a-z][a-z0-9_]*$/.test(name) || metrics.has(name)) throw new Error(`Cannot define metric ${name}`);
    const head = `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${type}\n`;
    metrics.set(name, { name, head, across, read });
  }

  return {
    counter(name, help) {
      const series = new Map<string, CounterSeries>();
      define(name, help, "counter", "counter", () =>
        Array.from(series.values(), ({ labels, count }) => [name + labels, count] as const),
      );
      return (labels) => remembered(series, labels, counterSeries);
    },
    histogram(name, help, bounds) {
      const series = new Map<string, HistogramSeries>();
      define(name, help, "histogram", "counter", () =>
        Array.from(series.values(), (each) => histogramSamples(name, bounds, each)).flat(),
      );
      return (labels) => remembered(series, labels, (own) => histogramSeries(own, bounds));
    },
    gauge(name, help, read, across) {
      define(name, help, across === "counter" ? "counter" : "gauge", across, async () => {
        const samples = await Promise.resolve()
          .then(read)
          .catch((): Samples => []);
        return samples.map(({ labels = {}, value }) => [name + labelText(labels), value] as const);
      });
    },
    async text(others = []) {
      const texts = Array.from(metrics.values(), async ({ name, head, across, read }) => {
        const samples = new Map(await read());
        if (across !== "same") {
          for (const values of others) add(samples, values[kindOf(across)][name] ?? {}, together[across]);
        }
        return samples.size === 0 ? "" : head + Array.from(samples, ([sample, value]) => line(sample, value)).join("");
      });
      return (await Promise.all(texts)).join("");
    },
    async values() {
      const values: Record<keyof ProcessValues, Record<string, Record<string, number>>> = { counters: {}, gauges: {} };
      for (const { name, across, read } of metrics.values()) {
        if (across === "same") continue;
        values[kindOf(across)][name] = Object.fromEntries(await read());
      }
      return values;
    },
  };
}

function kindOf(across: Across): keyof ProcessValues {
  return across === "counter" ? "counters" : "gauges";
}

/** Adds the samples of another process to those of this one. */
function add(
  samples: Map<string, number>,
  others: Readonly<Record<string, number>>,
  together: (own: number, other: number) => number,
): void {
  for (const [sample, value] of Object.entries(others)) {
    const own = samples.get(sample);
    samples.set(sample, own === undefined ? value : together(own, value));
  }
}

/**
 * A value in millionths, as the sums of times are. In these, several processes come to the same sum in any order: one that is less by an
 * error of rounding, because a process has ended, would be read as a restart.
 */
function inMillionths(value: number): number {
  return Number.isInteger(value) ? value : Math.round(value * 1e6) / 1e6;
}

const together = {
  counter: (one: number, other: number) => inMillionths(one + other),
  sum: (one: number, other: number) => one + other,
  least: Math.min,
  most: Math.max,
};

/** Adds up the counters of two processes. */
export function sumOf(one: MetricValues, other: MetricValues): MetricValues {
  const sum: Record<string, Record<string, number>> = { ...one };
  for (const [name, samples] of Object.entries(other)) {
    const added = new Map(Object.entries(sum[name] ?? {}));
    add(added, samples, together.counter);
    sum[name] = Object.fromEntries(added);
  }
  return sum;
}

interface CounterSeries extends Counter {
  readonly labels: string;
  readonly count: number;
}

function counterSeries(labels: string): CounterSeries {
  let count = 0;
  return {
    labels,
    get count() {
      return count;
    },
    add(more = 1) {
      count += more;
    },
  };
}

interface HistogramSeries extends Histogram {
  readonly labels: string;
  /** The number of values between each bound and the bound before it. The last entry counts the values above all bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

function histogramSeries(labels: string, bounds: readonly number[]): HistogramSeries {
  const counts = Array<number>(bounds.length + 1).fill(0);
  let sum = 0;
  return {
    labels,
    counts,
    get sum() {
      return sum;
    },
    observe(value) {
      let index = 0;
      while (index < bounds.length && value > (bounds[index] ?? 0)) index += 1;
      counts[index] = (counts[index] ?? 0) + 1;
      sum += value;
    },
  };
}

function histogramSamples(
  name: string,
  bounds: readonly number[],
  { labels, counts, sum }: HistogramSeries,
): (readonly [string, number])[] {
  let below = 0;
  const buckets = counts.map((count, index) => {
    below += count;
    const bound = shown(bounds[index] ?? Number.POSITIVE_INFINITY);
    return [`${name}_bucket${withLabel(labels, `le="${bound}"`)}`, below] as const;
  });
  return [...buckets, [`${name}_sum${labels}`, inMillionths(sum)], [`${name}_count${labels}`, below]];
}

function remembered<Series>(series: Map<string, Series>, labels: Labels, make: (labels: string) => Series): Series {
  const key = labelText(labels);
  const known = series.get(key);
  if (known !== undefined) return known;
  const made = make(key);
  series.set(key, made);
  return made;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function withLabel(labels: string, pair: string): string {
  return labels === "" ? `{${pair}}` : `${labels.slice(0, -1)},${pair}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function line(sample: string, value: number): string {
  return `${sample} ${shown(value)}\n`;
}

function shown(value: number): string {
  return value === Number.POSITIVE_INFINITY ? "+Inf" : String(value);
}
