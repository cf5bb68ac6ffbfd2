import type { HandOver } from "../../domain/cell-peer.ts";
import type { RelayOutcome } from "../../domain/outcome.ts";
import type { InboundMail, MailOutcome } from "../../domain/receive/inbound-mail.ts";
import { splitAddress } from "../../standards/address.ts";
import { findAccountsOf } from "../../store/account/inboxes.ts";
import type { ClosedAccounts } from "../account/closed-accounts.ts";
import type { Deps } from "../deps.ts";
import { idsIn, type MailDoor } from "./accept-mail.ts";
import type { Addressee } from "./accept-returned.ts";

export interface ForwardingDeps extends Deps {
  moves: Pick<ClosedAccounts, "moving" | "movedTo">;
  handOver: HandOver;
}

type Accept = MailDoor["accept"];

/**
 * Hands mail to the cell to which its account has moved, before the sender is answered: so nothing is stored here, and the sender keeps the
 * mail while that cell is away. Mail to the return path of a message that is not here is offered to all cells in turn, since the account of
 * the message may have moved and been deleted here.
 */
export function withForwarding(deps: ForwardingDeps, accept: Accept): Accept {
  /** Offers a mail to these cells, until one of them has a recipient. */
  async function offered(
    { envelope, raw }: InboundMail<Addressee>,
    recipients: readonly Addressee[],
    hosts: readonly string[],
  ): Promise<MailOutcome> {
    const { from: envelopeFrom, client: sender } = envelope;
    const cells = sender?.cells ?? [];
    // The address of a proxy says nothing about the sender.
    const client = sender?.isProxy ? undefined : sender;
    // A cell that has had the mail would get it again.
    if (cells.includes(deps.cell)) return "gone";
    for (const host of hosts) {
      const peer = deps.cellPeers.find((each) => each.host === host);
      if (peer === undefined) return "unavailable";
      const to = recipients.map(({ toAddr }) => addressAt(host, toAddr, deps.mailDomain));
      const outcome = outcomeOfAll(await deps.handOver(peer, { envelopeFrom, recipients: to, raw, client, cells }));
      deps.log.info(
        { cell: host, outcome, recipients: to.length, size_bytes: raw.length },
        "mail handed to another cell",
      );
      if (outcome !== "gone") return outcome;
    }
    return "gone";
  }

  return async (inbound) => {
    const { recipients, client } = inbound.envelope;
    const isQuiet = deps.moves.moving().size === 0 && !recipients.some((one) => "messageId" in one);
    if (isQuiet) return accept(inbound);
    const accounts = await findAccountsOf(deps.db.mail, idsIn(inbound.envelope));
    const groups = Map.groupBy(recipients, (one) => deps.moves.movedTo(accounts.get(idOf(one)) ?? ""));
    const here = groups.get(undefined) ?? [];
    const nowhere = here.filter((one) => "messageId" in one && !accounts.has(one.messageId));
    // A cell that was asked by another one asks no further.
    const elsewhere = nowhere.length > 0 && client?.cells === undefined ? deps.cellPeers.map(({ host }) => host) : [];
    const outcomes = [await offered(inbound, nowhere, elsewhere)];
    for (const [host, those] of groups) if (host !== undefined) outcomes.push(await offered(inbound, those, [host]));
    const left = outcomes[0] === "gone" ? here : here.filter((one) => !nowhere.includes(one));
    const isOver = left.length === 0 || outcomes.includes("unavailable");
    if (!isOver) outcomes.push(await accept({ ...inbound, envelope: { ...inbound.envelope, recipients: left } }));
    return answers.find((outcome) => outcomes.includes(outcome)) ?? "gone";
  };
}

/** The one answer for all recipients: the first of these that one of them has. The sender repeats a mail that one of them may still get. */
const answers = ["unavailable", "undecided", "stored", "quarantined", "disabled", "refused", "gone"] as const;

function idOf(recipient: Addressee): string {
  return "inboxId" in recipient ? recipient.inboxId : recipient.messageId;
}

/** The address of a recipient in another cell: one at our MAIL_DOMAIN has that cell's host, and any other stays. */
function addressAt(host: string, address: string, mailDomain: string): string {
  const { local = address, domain = mailDomain } = splitAddress(address) ?? {};
  return domain.toLowerCase() === mailDomain.toLowerCase() ? `${local}@${host}` : address;
}

function outcomeOfAll(outcomes: readonly RelayOutcome[]): MailOutcome {
  const all = outcomes.map((outcome): MailOutcome => {
    if (outcome.kind === "sent") return "stored";
    if (outcome.kind === "retry") return "unavailable";
    return byCode[outcome.failure.enhancedCode ?? ""] ?? "refused";
  });
  return answers.find((outcome) => all.includes(outcome)) ?? "gone";
}

const byCode: Readonly<Record<string, MailOutcome>> = { "5.1.1": "gone", "5.2.1": "disabled" };
