import type { World } from "./world.ts";

/** The values of `/metrics`, by name with labels. */
export async function readMetrics(world: World): Promise<Map<string, number>> {
  const { metricsUrl } = world.service;
  if (metricsUrl === undefined) throw new Error("Cannot read metrics: the world serves none");
  const response = await fetch(metricsUrl);
  return parsedMetrics(await response.text());
}

/** Throws at a line that is neither a comment nor a sample (exposition format 0.0.4). */
export function parsedMetrics(text: string): Map<string, number> {
  const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    samples.map((line): [string, number] => {
      const [, name = "", value = ""] = /^([a-z_]+(?:\{(?:[a-z]+="(?:[^"\\]|\\.)*",?)*\})?) (\S+)$/.exec(line) ?? [];
      if (name === "") throw new Error(`Cannot read a sample: ${line}`);
      return [name, Number(value)];
    }),
  );
}
