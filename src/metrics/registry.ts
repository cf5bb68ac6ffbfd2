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
  /** Defines a metric whose values are read when the metrics are served. If `read` fails, the metric is left out. */
  gauge(name: string, help: string, read: () => Samples | Promise<Samples>, type?: "gauge" | "counter"): void;
  /** The text of all metrics for Prometheus. */
  text(): Promise<string>;
}

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

export function registry(): Registry {
  const blocks: (() => string | Promise<string>)[] = [];
  const names = new Set<string>();

  function define(name: string, help: string, type: string, lines: () => string | Promise<string>): void {
    if (!/^[a-z][a-z0-9_]*$/.test(name) || names.has(name)) throw new Error(`Cannot define metric ${name}`);
    names.add(name);
    const head = `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${type}\n`;
    blocks.push(async () => {
      const text = await lines();
      return text === "" ? "" : head + text;
    });
  }

  return {
    counter(name, help) {
      const series = new Map<string, CounterSeries>();
      define(name, help, "counter", () => joined(series.values(), (each) => line(name, each.labels, each.count)));
      return (labels) => remembered(series, labels, counterSeries);
    },
    histogram(name, help, bounds) {
      const series = new Map<string, HistogramSeries>();
      define(name, help, "histogram", () => joined(series.values(), (each) => histogramLines(name, bounds, each)));
      return (labels) => remembered(series, labels, (own) => histogramSeries(own, bounds));
    },
    gauge(name, help, read, type = "gauge") {
      define(name, help, type, async () => {
        const samples = await Promise.resolve()
          .then(read)
          .catch((): Samples => []);
        return joined(samples, ({ labels = {}, value }) => line(name, labelText(labels), value));
      });
    },
    async text() {
      return (await Promise.all(blocks.map((block) => block()))).join("");
    },
  };
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

function histogramLines(name: string, bounds: readonly number[], { labels, counts, sum }: HistogramSeries): string {
  let below = 0;
  const buckets = counts.map((count, index) => {
    below += count;
    return line(`${name}_bucket`, withLabel(labels, `le="${shown(bounds[index] ?? Number.POSITIVE_INFINITY)}"`), below);
  });
  return `${buckets.join("")}${line(`${name}_sum`, labels, sum)}${line(`${name}_count`, labels, below)}`;
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

function line(name: string, labels: string, value: number): string {
  return `${name}${labels} ${shown(value)}\n`;
}

function shown(value: number): string {
  return value === Number.POSITIVE_INFINITY ? "+Inf" : String(value);
}

function joined<Item>(items: Iterable<Item>, show: (item: Item) => string): string {
  return Array.from(items, show).join("");
}
