import type { Command } from "commander";
import { readConfig } from "../config.ts";
import { reporting } from "./cli.ts";
import { answerAt } from "./doctor/port-probe.ts";
import { reasonOf } from "./failure.ts";

/** Adds `healthcheck`, for container images without curl. Its exit code is 0 if the service with these settings is ready, else 1. */
export function healthcheckCommand(program: Command): void {
  reporting(program.command("healthcheck").description("check whether the running service is ready"), async () => {
    const { host, port } = readConfig(process.env);
    if (port === 0) throw new Error("Cannot check health: PORT is 0, so the port of the service is not known");
    const answer = await answerAt(host, port, "/readyz").catch((error: unknown) => {
      throw new Error(`Not ready: ${host}:${port}: ${reasonOf(error)}`);
    });
    if (answer.status === 200) return { status: "ready" };
    const why = detailOf(answer.body) ?? `the server at ${host}:${port} is not inboxd (it answered ${answer.status})`;
    throw new Error(`Not ready: ${why}`);
  });
}

function detailOf(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { detail?: string }).detail;
  } catch {
    return undefined;
  }
}
