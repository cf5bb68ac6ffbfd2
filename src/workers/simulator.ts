import { simulatedFateOf } from "../domain/reports/simulated.ts";
import type { Deps } from "../flows/deps.ts";
import type { MailDoor } from "../flows/receive/accept-mail.ts";
import { simulatedReport } from "../mail/report/simulated-report.ts";
import { boundedMemory } from "../primitives/memory.ts";
import type { Relay } from "../relay/relay.ts";
import { headOf, type RelayedMail } from "../relay/relayed-mail.ts";
import { workUnderWay } from "../relay/under-way.ts";
import type { WorkerObserver } from "./scheduler.ts";

export interface SimulatorDeps extends Pick<Deps, "log" | "now"> {
  /** The door for reports. */
  door: Pick<MailDoor, "recipient" | "accept">;
}

export interface Simulator {
  /** Wraps a relay, and prepares reports about the mail that it accepts. */
  around(relay: Relay): Relay;
  /** Wraps an observer, and hands in the reports once the mail is recorded as sent, so that events come in their natural order. */
  observing(observer: WorkerObserver): WorkerObserver;
}

interface Waiting {
  envelopeFrom: string;
  raw: Uint8Array;
}

/** The most messages with reports that wait for the attempt to be recorded. The limit is only reached if recording fails. */
const mostWaiting = 1000;

/**
 * Simulates servers that bounce, delay and deliver, and readers who complain, for tests without real ones. The reports come in like any
 * other mail.
 */
export function reportSimulator({ door, log, now }: SimulatorDeps): Simulator {
  const waiting = boundedMemory<string, Waiting[]>(mostWaiting);
  const inHand = workUnderWay();

  async function remember(mail: RelayedMail): Promise<void> {
    const { envelopeFrom, body, dsn } = mail;
    const fated = mail.recipients.flatMap(({ address: recipient }) => {
      const fate = simulatedFateOf(recipient);
      return fate === undefined ? [] : [{ recipient, fate }];
    });
    if (fated.length === 0 || dsn === undefined) return;
    const bytes = await headOf(body);
    const [head = ""] = new TextDecoder().decode(bytes).split("\r\n\r\n", 1);
    const about = { envelopeFrom, envelopeId: dsn.envid, head, at: now() };
    const reports = fated.map((each) => ({ envelopeFrom, raw: simulatedReport({ ...about, ...each }) }));
    waiting.set(dsn.envid, [...(waiting.get(dsn.envid) ?? []), ...reports]);
  }

  const lost = (messageId: string | undefined) => (err: unknown) =>
    log.warn({ err, message_id: messageId }, "simulated report lost");

  function report(messageId: string): void {
    const reports = waiting.get(messageId) ?? [];
    waiting.delete(messageId);
    if (reports.length > 0) void inHand.keep(handIn(messageId, reports));
  }

  async function handIn(messageId: string, reports: readonly Waiting[]): Promise<void> {
    for (const { envelopeFrom: toAddr, raw } of reports) {
      try {
        const found = await door.recipient(toAddr);
        if (found.kind !== "return_path" && found.kind !== "accept") continue;
        const { kind: _kind, ...inbox } = found;
        await door.accept({ envelope: { from: "", recipients: [{ toAddr, ...inbox }], client: undefined }, raw });
      } catch (err) {
        lost(messageId)(err);
      }
    }
  }

  return {
    around: (relay) => ({
      ...relay,
      async send(mail, signal) {
        const outcomes = await relay.send(mail, signal);
        // An error here must not fail a mail that the relay has accepted.
        if (outcomes.every(({ kind }) => kind === "sent")) await remember(mail).catch(lost(mail.dsn?.envid));
        return outcomes;
      },
      async close() {
        await relay.close();
        await inHand.ended();
      },
    }),
    observing: (observer) => ({
      ...observer,
      relayed(settlement) {
        observer.relayed?.(settlement);
        report(settlement.messageId);
      },
    }),
  };
}
