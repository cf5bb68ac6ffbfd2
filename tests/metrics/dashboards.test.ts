import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readMetrics } from "../support/metrics.ts";
import { startWorld, type World } from "../support/world.ts";

const docs = join(import.meta.dir, "../../docs");
const promtool = Bun.which("promtool");
if (promtool === null) console.log("Skipped: promtool reads docs/alerts.yaml, since the program is not here");

interface Panel {
  id: number;
  title: string;
  type: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { refId: string; expr: string }[];
}

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; action: string };
}

const { panels } = JSON.parse(readFileSync(join(docs, "grafana.json"), "utf8")) as { panels: Panel[] };
const alerts = Bun.YAML.parse(readFileSync(join(docs, "alerts.yaml"), "utf8")) as { groups: { rules: Rule[] }[] };
const rules = alerts.groups.flatMap((group) => group.rules);

const expressions: readonly [where: string, expr: string][] = [
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ refId, expr }): [string, string] => [`panel ${title} ${refId}`, expr]),
  ),
  ...rules.map(({ alert, expr }): [string, string] => [`alert ${alert}`, expr]),
];

let world: World;
/** The names of all samples, with their labels. */
let samples: string[];
beforeAll(async () => {
  world = await startWorld({ env: { METRICS_PORT: "0" } });
  // The metrics of requests have no series before the first one.
  await world.api("/v1/account");
  samples = [...(await readMetrics(world)).keys()];
}, 60_000);
afterAll(() => world?.[Symbol.asyncDispose]());

test("The dashboard and the rules are read", () => {
  expect(expressions.length).toBeGreaterThan(40);
});

test.each(expressions)("%s names what is in the metrics", (_where, expr) => {
  const metrics = Array.from(expr.matchAll(/\b((?:inboxd|process)_[a-z_]+)(?:\{([^}]*)\})?/g));
  expect(metrics).not.toEqual([]);
  for (const [, metric = "", matchers = ""] of metrics) {
    const own = samples.filter((sample) => sample === metric || sample.startsWith(`${metric}{`));
    expect([metric, own.length > 0]).toEqual([metric, true]);
    for (const [, label = "", values = ""] of matchers.matchAll(/([a-z_]+)=~?"([^"]*)"/g)) {
      for (const value of values.split("|")) {
        const pair = `${label}="${value}"`;
        expect([metric, pair, own.some((sample) => sample.includes(pair))]).toEqual([metric, pair, true]);
      }
    }
    for (const label of labelsOf(expr)) {
      const isThere = own.some((sample) => sample.includes(`${label}="`));
      expect([metric, label, isThere]).toEqual([metric, label, true]);
    }
  }
});

/** The labels by which an expression sums, without the one that Prometheus adds. */
function labelsOf(expr: string): string[] {
  return Array.from(expr.matchAll(/\bby \(([^)]*)\)/g), ([, labels = ""]) => labels.split(", "))
    .flat()
    .filter((label) => label !== "instance");
}

test("Each rule has a severity, and says what is wrong and what to do", () => {
  for (const { alert, labels, annotations } of rules) {
    expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(?:page|ticket)$/)]);
    expect(Object.keys(annotations)).toEqual(["summary", "action"]);
  }
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
});

test("No two panels have the same id or overlap", () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  for (const [index, { gridPos: one }] of panels.entries()) {
    expect(one.x + one.w).toBeLessThanOrEqual(24);
    for (const { gridPos: other } of panels.slice(index + 1)) {
      const isBeside = one.x + one.w <= other.x || other.x + other.w <= one.x;
      const isAbove = one.y + one.h <= other.y || other.y + other.h <= one.y;
      expect(isBeside || isAbove).toBe(true);
    }
  }
});

test.if(promtool !== null)("promtool reads the rules", () => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? "", "check", "rules", join(docs, "alerts.yaml")]);
  expect([exitCode, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining(`${rules.length} rules found`)]);
});
