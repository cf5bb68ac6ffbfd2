import { describe, expect, test } from "bun:test";
import { registry } from "../../src/metrics/registry.ts";

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
    metrics.gauge("sessions", "Open", async () => [{ labels: { pool: "api" }, value: sessions }]);
    expect(await metrics.text()).toEndWith('sessions{pool="api"} 1\n');
    sessions = 7;
    expect(await metrics.text()).toEndWith('sessions{pool="api"} 7\n');
  });

  test("that can't be read is left out, and nothing else is", async () => {
    const metrics = registry();
    metrics.gauge("depth", "Depth", () => Promise.reject(new Error("away")));
    metrics.gauge("length", "Length", () => {
      throw new Error("away");
    });
    metrics.gauge("width", "Width", () => [{ value: 2 }]);
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
  expect(() => metrics.gauge(name, "Help", () => [])).toThrow("Cannot define metric");
});
