import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A profile as `bun --cpu-prof` writes it (the format of Chrome's developer tools). */
interface CpuProfile {
  nodes: ProfileNode[];
  /** Clock time, in microseconds. */
  startTime: number;
  samples: number[];
  timeDeltas: number[];
}

interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number };
  children?: number[];
}

export interface Shares {
  /** Shares of CPU time by the owner of the code, largest first. Native code counts for its caller, and is also shown. */
  owners: Map<string, { share: number; native: number }>;
  /** The most expensive functions; native code counts for its caller. */
  functions: { name: string; file: string; share: number }[];
  /** The number of samples. */
  samples: number;
}

/** The longest time between two samples of a busy thread; a longer one means that it was idle. */
const longestMicros = 5_000;
/** The root of the repository, whose own folder may be named `src` or `bench` too. */
const root = join(import.meta.dir, "../../");
const nobody = "runtime, called by nobody";
const idle = new Set(["(program)", "(idle)", "(root)"]);

/** The profile that Bun has written into a folder, limited to a time span. */
export async function readShares(directory: string, since: Date, until: Date): Promise<Shares> {
  const [name] = readdirSync(directory).filter((file) => file.endsWith(".cpuprofile"));
  if (name === undefined) throw new Error("Cannot read the profile: the process wrote none");
  const profile = (await Bun.file(join(directory, name)).json()) as CpuProfile;
  const usualMicros = profile.timeDeltas.toSorted((left, right) => left - right)[profile.timeDeltas.length >> 1] ?? 0;
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const owners = new Map<string, { all: number; native: number }>();
  const functions = new Map<string, { name: string; file: string; all: number }>();
  let total = 0;
  let samples = 0;
  let atMicros = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    const delta = profile.timeDeltas[index] ?? 0;
    atMicros += delta;
    if (atMicros < since.getTime() * 1000 || atMicros > until.getTime() * 1000) continue;
    const node = nodes.get(id);
    if (node === undefined || idle.has(node.callFrame.functionName)) continue;
    const micros = delta > longestMicros ? usualMicros : delta;
    const caller = callerOf(node);
    const owner = ownerOf(caller?.callFrame.url ?? "");
    const isNative = caller !== node;
    const file = fileOf(caller?.callFrame.url ?? "");
    const native = node.callFrame.functionName || "(native)";
    const place = caller?.callFrame.functionName || "(anonymous)";
    const name = caller === undefined ? native : isNative ? `${place} → ${native}` : place;
    const ofOwner = owners.get(owner) ?? { all: 0, native: 0 };
    const ofFunction = functions.get(`${file} ${name}`) ?? { name, file, all: 0 };
    owners.set(owner, { all: ofOwner.all + micros, native: ofOwner.native + (isNative ? micros : 0) });
    functions.set(`${file} ${name}`, { ...ofFunction, all: ofFunction.all + micros });
    total += micros;
    samples += 1;
  }
  return {
    owners: new Map(
      [...owners]
        .sort(([, one], [, other]) => other.all - one.all)
        .map(([owner, { all, native }]) => [owner, { share: all / total, native: native / total }]),
    ),
    functions: [...functions.values()]
      .sort((one, other) => other.all - one.all)
      .map(({ name, file, all }) => ({ name, file, share: all / total })),
    samples,
  };

  /** The nearest function up the stack that has a file, without Bun's own JavaScript. */
  function callerOf(node: ProfileNode): ProfileNode | undefined {
    let at: ProfileNode | undefined = node;
    while (at !== undefined && !isFile(at.callFrame.url)) at = nodes.get(parents.get(at.id) ?? -1);
    return at;
  }
}

function isFile(url: string): boolean {
  return url.startsWith("/") || url.startsWith("file:");
}

/** The owner: a package, a folder of ours, or neither. */
function ownerOf(url: string): string {
  return /^(?:(?:src|@[^/]+)\/)?[^/]+/.exec(fileOf(url))?.[0] ?? nobody;
}

/** The path from the package's name, or from the root of the repository. */
function fileOf(url: string): string {
  if (url === "") return "";
  const path = url.startsWith("file:") ? fileURLToPath(url) : url;
  const ours = path.startsWith(root) ? path.slice(root.length) : "other";
  return /^.*\/node_modules\/(.+)$/.exec(path)?.[1] ?? ours;
}
