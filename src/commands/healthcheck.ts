import { get } from "node:http";
import type { Command } from "commander";
import { readConfig } from "../config.ts";
import { reporting } from "./cli.ts";

/** For container engines, whose images have no curl: exit code 0 when the service of these settings is ready, else 1. */
export function healthcheckCommand(program: Command): void {
  reporting(program.command("healthcheck").description("ask the running service whether it is ready"), async () => {
    const { host, port } = readConfig(process.env);
    if (port === 0) throw new Error("Cannot check health: PORT is 0, so nobody knows where the service listens");
    const answer = await ask(`http://${reachable(host)}:${port}/readyz`);
    if (answer.status === 200) return { status: "ready" };
    throw new Error(`Not ready: ${answer.detail ?? `the service answered ${answer.status}`}`);
  });
}

/** Whoever listens everywhere listens on loopback too. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

/** By node:http, because `fetch` would go to a proxy of the environment even for loopback. */
function ask(url: string): Promise<{ status: number | undefined; detail: string | undefined }> {
  return new Promise((resolve, reject) => {
    const request = get(url, { timeout: 3000 }, async (response) => {
      const text = (await response.toArray()).join("");
      resolve({ status: response.statusCode, detail: detailOf(text) });
    });
    request.on("timeout", () => request.destroy(new Error("no answer within 3 s")));
    request.on("error", (error) => reject(new Error(`Not ready: ${url} cannot be reached: ${error.message}`)));
  });
}

function detailOf(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { detail?: string }).detail;
  } catch {
    return undefined;
  }
}
