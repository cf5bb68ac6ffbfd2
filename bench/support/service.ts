import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { leaveNothing } from "../../scripts/leave-nothing.ts";

/** The service as a process, so that a benchmark's load does not share its event loop. */
export interface ServiceProcess extends AsyncDisposable {
  apiUrl: string;
  smtpPort: number;
  apiKey: string;
  dataDir: string;
  pid: number;
  stop(): Promise<void>;
}

const house = join(import.meta.dir, "../..");

export const benchKey = "bench-key-0123456789abcdef";

/** `bunArguments` go before the program, as `--cpu-prof` must; `tree` has the sources, by default this one. */
export async function startServiceProcess(
  environment: Record<string, string | undefined>,
  { bunArguments = [], tree = house }: { bunArguments?: readonly string[]; tree?: string } = {},
): Promise<ServiceProcess> {
  leaveNothing();
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-bench-"));
  const program = join(tree, "src/main.ts");
  const child = Bun.spawn([process.execPath, ...bunArguments, program, "serve"], {
    env: {
      ...process.env,
      DATA_DIR: dataDir,
      PORT: "0",
      SMTP_PORT: "0",
      API_KEY: benchKey,
      LOG_LEVEL: "warn",
      LOG_FORMAT: "json",
      SENDS_PER_MINUTE: "0",
      SENDS_PER_DAY: "0",
      COLD_RECIPIENT_DAILY: "0",
      INBOXES_PER_DAY: "0",
      ...environment,
    },
    stdout: "pipe",
    stderr: "inherit",
  });
  const banner = await bannerOf(child.stdout);
  const apiUrl = /API\s+(\S+)\/v1/.exec(banner)?.[1];
  const smtpPort = /SMTP\s+\S+:(\d+),/.exec(banner)?.[1];
  if (apiUrl === undefined || smtpPort === undefined) throw new Error(`Cannot start the service: ${banner}`);
  async function stop(): Promise<void> {
    child.kill("SIGTERM");
    await child.exited;
    rmSync(dataDir, { recursive: true, force: true });
  }
  return {
    apiUrl,
    smtpPort: Number(smtpPort),
    apiKey: benchKey,
    dataDir,
    pid: child.pid,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Reads until the banner's curl line, and continues reading so that the pipe never fills. */
async function bannerOf(output: ReadableStream<Uint8Array>): Promise<string> {
  const reader = output.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes("curl")) {
    const { value, done } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  void (async () => {
    while (!(await reader.read()).done);
  })();
  return text;
}
