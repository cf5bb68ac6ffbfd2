import { describe, expect, test } from "bun:test";
import { registry, sumOf } from "../../src/metrics/registry.ts";

test("a counter is shown with its help and its labels, from 0 on", async () => {
  const metrics = registry();
  const mails = metrics.counter("mails_total", "Mails that came", ["outcome"]);
  mails({ outcome: "gone" });
  const stored = mails({ outcome: "stored" });
  stored.add();
  stored.add(2);
  expect(await metrics.text()).toBe(
    '# HELP mails_total Mails that came\n# TYPE mails_total counter\nmails_total{outcome="gone"} 0\nmails_total{outcome="stored"} 3\n',
  );
});

test("the same labels are the same counter", async () => {
  const metrics = registry();
  const mails = metrics.counter("mails_total", "Mails", ["outcome"]);
  mails({ outcome: "stored" }).add();
  mails({ outcome: "stored" }).add();
  expect(await metrics.text()).toEndWith('mails_total{outcome="stored"} 2\n');
});

test("a counter without labels has no braces", async () => {
  const metrics = registry();
  metrics.counter("mails_total", "Mails", [])({}).add();
  expect(await metrics.text()).toEndWith("\nmails_total 1\n");
});

test("a histogram counts each value in all buckets that it fits in", async () => {
  const metrics = registry();
  const took = metrics.histogram("took_seconds", "Time", [0.1, 1], ["way"])({ way: "smtp" });
  for (const value of [0.05, 0.1, 0.5, 4]) took.observe(value);
  const lines = (await metrics.text()).split("\n").slice(2, -1);
  expect(lines).toEqual([
    'took_seconds_bucket{way="smtp",le="0.1"} 2',
    'took_seconds_bucket{way="smtp",le="1"} 3',
    'took_seconds_bucket{way="smtp",le="+Inf"} 4',
    'took_seconds_sum{way="smtp"} 4.65',
    'took_seconds_count{way="smtp"} 4',
  ]);
});

test("a histogram without labels has its bound alone", async () => {
  const metrics = registry();
  metrics.histogram("took_seconds", "Time", [1], [])({}).observe(2);
  expect(await metrics.text()).toContain('took_seconds_bucket{le="1"} 0\ntook_seconds_bucket{le="+Inf"} 1\n');
});

describe("a gauge", () => {
  test("is read when it is asked for, also from afar", async () => {
    const metrics = registry();
    let sessions = 1;
    metrics.gauge("sessions", "Open", async () => [{ labels: { pool: "api" }, value: sessions }], "sum");
    expect(await metrics.text()).toEndWith('sessions{pool="api"} 1\n');
    sessions = 7;
    expect(await metrics.text()).toEndWith('sessions{pool="api"} 7\n');
  });

  test("that can't be read is left out, and nothing else is", async () => {
    const metrics = registry();
    metrics.gauge("depth", "Depth", () => Promise.reject(new Error("away")), "sum");
    metrics.gauge(
      "length",
      "Length",
      () => {
        throw new Error("away");
      },
      "sum",
    );
    metrics.gauge("width", "Width", () => [{ value: 2 }], "same");
    expect(await metrics.text()).toBe("# HELP width Width\n# TYPE width gauge\nwidth 2\n");
  });
});

test("labels and help texts cannot forge a line", async () => {
  const metrics = registry();
  metrics.counter("a_total", "One\nTwo \\ three", ["route"])({ route: 'x"} 1\nb_total 9 \\' });
  expect((await metrics.text()).split("\n")).toEqual([
    "# HELP a_total One\\nTwo \\\\ three",
    "# TYPE a_total counter",
    'a_total{route="x\\"} 1\\nb_total 9 \\\\"} 0',
    "",
  ]);
});

test.each([["Mails"], ["mails-total"], ["1st"], ["taken_total"]])("%s can't be the name of another metric", (name) => {
  const metrics = registry();
  metrics.counter("taken_total", "Taken", []);
  expect(() => metrics.gauge(name, "Help", () => [], "same")).toThrow("Cannot define metric");
});

describe("several processes", () => {
  /** The metrics of a process that has seen this much. */
  function process(mails: Record<string, number>, tookSeconds: number[], gauge: number) {
    const metrics = registry();
    const counter = metrics.counter("mails_total", "Mails", ["outcome"]);
    for (const [outcome, count] of Object.entries(mails)) counter({ outcome }).add(count);
    const took = metrics.histogram("took_seconds", "Time", [1], [])({});
    for (const seconds of tookSeconds) took.observe(seconds);
    for (const across of ["sum", "least", "most", "same", "counter"] as const) {
      metrics.gauge(`gauge_${across}`, "Gauge", () => [{ value: gauge }], across);
    }
    return metrics;
  }

  test("add up their counters and histograms, and their gauges as each says", async () => {
    const one = process({ stored: 3 }, [0.5], 4);
    const others = [process({ stored: 2, gone: 1 }, [0.25, 8], 7), process({}, [], 2)];
    const page = await one.text(await Promise.all(others.map((each) => each.values())));
    expect(page.split("\n").filter((line) => !line.startsWith("#"))).toEqual([
      'mails_total{outcome="stored"} 5',
      'mails_total{outcome="gone"} 1',
      'took_seconds_bucket{le="1"} 2',
      'took_seconds_bucket{le="+Inf"} 3',
      "took_seconds_sum 8.75",
      "took_seconds_count 3",
      "gauge_sum 13",
      "gauge_least 2",
      "gauge_most 7",
      "gauge_same 4",
      "gauge_counter 13",
      "",
    ]);
    expect(page).toContain("# TYPE gauge_counter counter\n");
    expect(page).toContain("# TYPE gauge_sum gauge\n");
  });

  test("come to the same sum in any order, so that a counter does not fall when one ends", async () => {
    const [one, other, third] = await Promise.all([0.1, 0.2, 0.3].map((took) => process({}, [took], 0).values()));
    if (one === undefined || other === undefined || third === undefined) throw new Error("Cannot read the values");
    const sums = [sumOf(sumOf(one.counters, other.counters), third.counters)];
    sums.push(sumOf(one.counters, sumOf(other.counters, third.counters)));
    expect(sums.map(({ took_seconds: took }) => took?.took_seconds_sum)).toEqual([0.6, 0.6]);
  });

  test("that have ended leave their counters, and no gauge", async () => {
    const ended = await Promise.all(
      [process({ stored: 2 }, [3], 7), process({ gone: 1 }, [], 5)].map((each) => each.values()),
    );
    const counters = ended.map(({ counters: each }) => each).reduce(sumOf, {});
    const page = await process({ stored: 1 }, [], 4).text([{ counters, gauges: {} }]);
    for (const line of ['mails_total{outcome="stored"} 3', 'mails_total{outcome="gone"} 1', "took_seconds_sum 3"]) {
      expect(page).toContain(`\n${line}\n`);
    }
    expect(page).toContain("\ngauge_sum 4\n");
    expect(page).toContain("\ngauge_counter 16\n");
  });
});
