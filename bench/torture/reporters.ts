import type { Chance } from "../../tests/support/chance.ts";
import type { LedgerReport } from "./ledger.ts";
import { inSession, stuffed } from "./smtp-client.ts";
import { type Driver, eventually, type World } from "./world.ts";

/** The relay's reporter: it sends each report until it is accepted, and sometimes again. */
export function reporter(world: World, chance: Chance): Driver {
  const { ledger } = world;

  return async function reportOne() {
    const untold = ledger.reports.filter(({ isTaken }) => !isTaken);
    if (untold.length === 0) return;
    const report = chance.pick(untold);
    report.isTaken = true;
    if (chance.is(0.05)) await forge(report).catch(() => undefined);
    const [way, otherWay] = chance.is(0.6) ? [tell, notify] : [notify, tell];
    await eventually(world, chance, () => way(report));
    // A server that did not read the answer repeats the report, and some relays report in both ways.
    if (chance.is(0.3)) await (chance.is(0.5) ? way : otherWay)(report).catch(() => undefined);
  };

  async function tell(report: LedgerReport): Promise<boolean> {
    await inSession(world, chance, async (client, ask) => {
      await ask("MAIL FROM:<>", "2");
      const path = chance.is(0.1) ? report.returnPath.toUpperCase() : report.returnPath;
      const taken = await ask(`RCPT TO:<${path}>`);
      if (taken.startsWith("5")) ledger.violation("T2", `RCPT of the return path of ${report.token}: ${taken}`);
      if (!taken.startsWith("2")) throw new Error(taken);
      await ask("DATA", "3");
      report.open = true;
      client.send(Buffer.concat([stuffed(mailOf(report)), Buffer.from("\r\n.\r\n")]));
      const reply = await client.reply();
      ledger.count(`report: ${report.kind}, answered ${reply.slice(0, 3)}`);
      if (reply.startsWith("2")) report.acknowledged = true;
      else if (reply.startsWith("5")) ledger.violation("T2", `the report of ${report.token} was answered ${reply}`);
    });
    return report.acknowledged;
  }

  async function notify(report: LedgerReport): Promise<boolean> {
    const running = world.fleet.any();
    if (running === undefined) throw new Error("Nothing listens");
    const { kind, address: recipient, returnPath: return_path } = report;
    const { status: enhanced_code, words: diagnostic } = told[kind];
    report.open = true;
    const answer = await fetch(`${running.apiUrl}/v1/relay-notices`, {
      method: "POST",
      headers: { authorization: `Bearer ${noticesToken}`, "content-type": "application/json" },
      body: JSON.stringify([{ kind, recipient, return_path, enhanced_code, diagnostic }]),
      signal: AbortSignal.timeout(10_000),
    });
    ledger.count(`notice: ${kind}, answered ${answer.status}`);
    const body = await answer.text();
    if (answer.status === 200) report.acknowledged = true;
    else if (answer.status !== 503) ledger.violation("T7", `a notice of ${report.token}: ${answer.status} ${body}`);
    return answer.status === 200;
  }

  /** An invented return path is refused, whatever the state of the service, as long as it takes commands. */
  async function forge({ returnPath, token }: LedgerReport): Promise<void> {
    const at = returnPath.indexOf("@") - 1;
    const forged = `${returnPath.slice(0, at)}${returnPath[at] === "a" ? "b" : "a"}${returnPath.slice(at + 1)}`;
    await inSession(world, chance, async (_client, ask) => {
      await ask("MAIL FROM:<>", "2");
      const reply = await ask(`RCPT TO:<${forged}>`);
      ledger.count("report: forged");
      if (!/^(550 5\.1\.1|421 4\.3\.2) /.test(reply))
        ledger.violation("T2", `a forged return path of ${token}: ${reply}`);
    });
  }
}

/** The token that the relay sends with its notices. */
export const noticesToken = "torture-notices-0123456789abcdef";

const told = {
  bounced: { action: "failed", status: "5.1.1", words: "550 5.1.1 User unknown" },
  delayed: { action: "delayed", status: "4.4.1", words: "451 4.4.1 No answer" },
  delivered: { action: "delivered", status: "2.0.0", words: "250 2.0.0 Ok" },
} as const;

function mailOf({ kind, address, returnPath, token }: LedgerReport): Buffer {
  const { action, status, words } = told[kind];
  const lines = [
    "From: mailer-daemon@relay.example",
    `To: ${returnPath}`,
    `Subject: report of ${token}`,
    `Message-ID: <${kind}.${token}@relay.example>`,
    "MIME-Version: 1.0",
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    "",
    "--b",
    "Content-Type: text/plain",
    "",
    words,
    "--b",
    "Content-Type: message/delivery-status",
    "",
    "Reporting-MTA: dns; relay.example",
    "",
    `Final-Recipient: rfc822; ${address}`,
    `Action: ${action}`,
    `Status: ${status}`,
    `Diagnostic-Code: smtp; ${words}`,
    "",
    "--b--",
    "",
  ];
  return Buffer.from(lines.join("\r\n"), "latin1");
}
