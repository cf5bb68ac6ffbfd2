import type { Command } from "commander";
import { askHolder } from "../database/directory-lock.ts";
import { dnsClient } from "../dns/client.ts";
import type { AdminRequest } from "../flows/account/administer.ts";
import { realWorld } from "../service.ts";
import { diagnose } from "./doctor/diagnose.ts";
import { hasFailure, shownFindings } from "./doctor/finding.ts";
import { jsonOf, tell } from "./terminal.ts";

/** Exit code 0 when nothing is wrong, also where something is to be looked at; else 1. */
export function doctorCommand(program: Command): void {
  program
    .command("doctor")
    .description("look at settings, database, ports, certificate, DNS, relay and webhooks, and say what to do")
    .option("--json", "print JSON")
    .action(async ({ json = false }: { json?: boolean }) => {
      const findings = await diagnose(process.env, {
        now: realWorld.now,
        openDns: (servers) => dnsClient({ ...realWorld, servers }),
        askServer,
      });
      const isWell = !hasFailure(findings);
      tell(json ? jsonOf({ ok: isWell, findings }, 2) : shownFindings(findings));
      if (!isWell) process.exitCode = 1;
    });
}

async function askServer(dataDir: string, request: AdminRequest): Promise<object> {
  const response = await askHolder(dataDir, "/admin", {
    method: "POST",
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(5_000),
  });
  const answer = (await response.json()) as { result: object } | { refused: string };
  if ("refused" in answer) throw new Error(answer.refused);
  return answer.result;
}
