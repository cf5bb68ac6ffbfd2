import type { Command } from "commander";
import { askService } from "../control/client.ts";
import { realWorld } from "../service/time-and-chance.ts";
import { hasFailure, shownFindings } from "./doctor/finding.ts";
import { jsonOf, print } from "./terminal.ts";

/** Adds `doctor`. Its exit code is 1 if a check failed, and 0 otherwise, even with warnings. */
export function doctorCommand(program: Command): void {
  program
    .command("doctor")
    .description("check settings, database, ports, certificate, DNS, relay and webhooks, and give advice")
    .option("--json", "print JSON")
    .action(async ({ json = false }: { json?: boolean }) => {
      const [{ diagnose }, { dnsClient }] = await Promise.all([
        import("./doctor/diagnose.ts"),
        import("../dns/client.ts"),
      ]);
      const findings = await diagnose(process.env, {
        now: realWorld.now,
        openDns: (servers) => dnsClient({ ...realWorld, servers }),
        askServer: (dataDir, request) => askService(dataDir, request, AbortSignal.timeout(5_000)),
      });
      const isWell = !hasFailure(findings);
      print(json ? jsonOf({ ok: isWell, findings }, 2) : shownFindings(findings));
      if (!isWell) process.exitCode = 1;
    });
}
