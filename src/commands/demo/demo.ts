import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { readConfig } from "../../config.ts";
import { startService } from "../../service/start.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { oneLine } from "../../standards/text.ts";
import { clientOf, type ServerOptions } from "../client.ts";
import { messageOf, UsageError } from "../failure.ts";
import { smtpServer } from "../smtp.ts";
import { jsonOf, print } from "../terminal.ts";
import { type Conversation, type DemoServer, runStory, type Step } from "./story.ts";

export interface DemoOptions extends ServerOptions {
  smtp?: string;
  json?: boolean;
}

interface StepReport {
  step: string;
  ok: boolean;
  ms: number;
  detail: string;
}

/** Runs the demo and prints each step. Returns whether all steps succeeded. */
export async function demo({ json = false, ...options }: DemoOptions): Promise<boolean> {
  if (options.url === undefined && options.smtp !== undefined) {
    throw new UsageError("Cannot use --smtp without --url: it is the SMTP listener of that server");
  }
  const startedAt = performance.now();
  const steps: StepReport[] = [];
  let conversation: Conversation | undefined;

  const step: Step = async (name, work) => {
    const beganAt = performance.now();
    const report = (ok: boolean, detail: string) => {
      const made = { step: name, ok, ms: Math.round((performance.now() - beganAt) * 10) / 10, detail };
      steps.push(made);
      if (!json) print(line(made));
    };
    try {
      const [detail, result] = await work();
      report(true, oneLine(detail));
      return result;
    } catch (error) {
      report(false, oneLine(messageOf(error)));
      throw new StepFailed();
    }
  };

  try {
    const story = (server: DemoServer) => runStory(server, step, realWorld);
    conversation = options.url === undefined ? await onOwnServer(step, story) : await story(running(options));
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
  }
  const ok = conversation !== undefined;
  const totalMs = Math.round(performance.now() - startedAt);
  print(json ? jsonOf({ ok, totalMs, steps, thread: conversation ?? null }, 2) : ending(conversation, totalMs));
  return ok;
}

/** The failure of a step, which was printed already. */
class StepFailed extends Error {}

function running({ smtp, ...server }: DemoOptions): DemoServer {
  const client = clientOf(server);
  return { client, smtp: smtpServer(smtp, client.baseUrl), isOurs: false };
}

/** Runs on a new server in a temporary directory and on free ports. Ignores the settings of the environment. */
async function onOwnServer(step: Step, story: (server: DemoServer) => Promise<Conversation>): Promise<Conversation> {
  const directory = await mkdtemp(join(tmpdir(), "inboxd-demo-"));
  const interrupted = Promise.withResolvers<never>();
  const interrupt = (signal: NodeJS.Signals) => interrupted.reject(new Error(`Cannot go on: ended by ${signal}`));
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  let stop: (() => Promise<void>) | undefined;
  const conversation = (async () => {
    const service = await step("server", async () => {
      const settings = { DATA_DIR: join(directory, "data"), PORT: "0", SMTP_PORT: "0", SHUTDOWN_TIMEOUT_MS: "1000" };
      const started = await startService(readConfig(settings), pino({ level: "silent" }));
      stop = started.stop;
      const { origin } = started.apiUrl;
      return [`API ${origin}, SMTP ${started.smtp.address}:${started.smtp.port}, own database`, started];
    });
    const client = clientOf({ url: service.apiUrl.origin, apiKey: service.firstStart.apiKey ?? "" });
    return story({
      client,
      smtp: { host: service.smtp.address, port: service.smtp.port },
      isOurs: true,
    });
  })();
  try {
    return await Promise.race([conversation, interrupted.promise]);
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
    conversation.catch(() => undefined);
    await stop?.();
    await rm(directory, { recursive: true, force: true });
  }
}

function line({ step, ok, ms, detail }: StepReport): string {
  const time = `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  return `${ok ? "✓" : "✗"} ${step.padEnd(23)} ${time.padStart(8)}   ${detail}\n`;
}

function ending(conversation: Conversation | undefined, totalMs: number): string {
  const total = `${(totalMs / 1000).toFixed(1)} s`;
  if (conversation === undefined) return `\nFailed after ${total}\n`;
  const messages = conversation.data.map(({ direction, fromAddr, bodyText }) => {
    const [said = ""] = bodyText.split("\n");
    return `  ${direction === "inbound" ? "←" : "→"} ${oneLine(fromAddr)}: ${oneLine(said)}\n`;
  });
  return `\n${oneLine(conversation.subject)}\n${messages.join("")}\nAll of it in ${total}\n`;
}
