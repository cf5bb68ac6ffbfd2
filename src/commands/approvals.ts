import type { Command } from "commander";
import type { Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { printMoreHint, reporting } from "./cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "./client.ts";
import { addressees } from "./drafts.ts";
import { lines } from "./print.ts";
import { type Calendar, fullTime, shortTime } from "./short-time.ts";

type Draft = Schemas["Draft"];

interface ListOptions extends ServerOptions {
  inbox?: string;
  limit: string;
  cursor?: string;
}

interface RejectOptions extends ServerOptions {
  reason?: string;
}

/** A draft, and its mail as it would be sent. */
interface Asked {
  draft: Draft;
  message: Schemas["Message"];
  /** The text of its HTML version, if it was given beside the text. */
  htmlText?: string;
}

export function approvalCommands(program: Command): void {
  const approvals = program
    .command("approvals")
    .description("decide about mail that waits for the approval of a person");
  reporting(
    ofServer(approvals.command("list"))
      .description("list mail that waits for approval, newest first")
      .option("--inbox <inbox>", "list only mail of this inbox: its id or address")
      .option("--limit <number>", "the most mails to list, 1 to 100", "50")
      .option("--cursor <cursor>", "continue a list at this cursor"),
    async ({ inbox, limit, cursor, ...server }: ListOptions) => {
      const client = clientOf(server);
      const inbox_id = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
      return client.drafts.list({ inbox_id, state: ["awaiting_approval"], limit: unchecked(limit), cursor }).page();
    },
    ({ data, nextCursor }, calendar) => {
      if (nextCursor !== null) printMoreHint(`--cursor ${nextCursor}`);
      return data.map((draft) => ({
        asked: shortTime(draft.approval?.requestedAt ?? null, calendar),
        expires: shortTime(draft.approval?.expiresAt ?? null, calendar),
        reasons: draft.approval?.reasons.join(", "),
        to: marked(draft, [...draft.to, ...draft.cc, ...draft.bcc]),
        subject: draft.subject,
        id: draft.id,
        version: draft.version,
      }));
    },
  );
  reporting(
    ofServer(approvals.command("show <id>")).description("print one mail as it would be sent, and why it waits"),
    show,
    shown,
  );
  reporting(
    ofServer(approvals.command("approve <id> <version>")).description(
      "approve the version that `show` has printed; it is sent at once, or at its time",
    ),
    (id: string, version: string, server: ServerOptions) =>
      clientOf(server).drafts.approve(id, { version: Number(version) }),
    decided,
  );
  reporting(
    ofServer(approvals.command("reject <id> <version>"))
      .description("reject the version that `show` has printed; for 7 days the same mail is refused")
      .option("--reason <text>", "the reason, which is told to those who ask for the same mail again"),
    (id: string, version: string, { reason, ...server }: RejectOptions) =>
      clientOf(server).drafts.reject(id, { version: Number(version), reason }),
    decided,
  );
}

/** Reads the draft first: if it changes before its mail is read, the printed version is too old to be approved. */
async function show(id: string, server: ServerOptions): Promise<Asked> {
  const client = clientOf(server);
  const draft = await client.drafts.get(id);
  if (draft.approval === null) throw new Error("Cannot show approval: the draft needs none");
  const message = await client.messages.get(id);
  if (draft.body === null || draft.bodyHtml === null) return { draft, message };
  const { textOfHtml } = await import("../mail/html/html.ts");
  return { draft, message, htmlText: textOfHtml(draft.bodyHtml) };
}

function shown({ draft, message, htmlText }: Asked, calendar: Calendar): string {
  const { approval, to, cc, bcc, sendAt, replyTo } = draft;
  const head = {
    id: draft.id,
    version: draft.version,
    state: draft.state,
    ...(approval && shownApproval(approval, calendar)),
    from: message.fromName ? `${message.fromName} <${message.fromAddr}>` : message.fromAddr,
    to: marked(draft, to),
    ...(cc.length > 0 && { cc: marked(draft, cc) }),
    ...(bcc.length > 0 && { bcc: marked(draft, bcc) }),
    ...(replyTo !== null && { "reply to": replyTo }),
    subject: message.subject,
    ...(sendAt !== null && { "sent at": fullTime(sendAt, calendar) }),
    ...(message.attachments.length > 0 && {
      files: message.attachments.map(({ filename }) => filename).join(", "),
    }),
  };
  const html = htmlText === undefined ? "" : `\n[HTML version, which most programs show]\n\n${htmlText}\n`;
  return `${lines(head)}\n${message.bodyText}\n${html}`;
}

function shownApproval(approval: NonNullable<Draft["approval"]>, calendar: Calendar): object {
  const { reasons, requestedAt, expiresAt, decision, decidedBy, decidedAt, reason, edited } = approval;
  return {
    reasons: reasons.join(", "),
    asked: fullTime(requestedAt, calendar),
    ...(edited && { edited: "by somebody else than its maker" }),
    ...(decision === null && { expires: fullTime(expiresAt, calendar) }),
    ...(decision !== null && { decision }),
    ...(decidedBy && { "decided by": decidedBy.key ?? decidedBy.address }),
    ...(decidedAt !== null && { decided: fullTime(decidedAt, calendar) }),
    ...(reason !== null && { reason }),
  };
}

/** The recipients, those that the inbox does not know with a mark. */
function marked({ approval }: Draft, of: Draft["to"]): string {
  return addressees(of, (address) => (approval?.newRecipients.includes(address) ? " (new)" : ""));
}

function decided({ id, version, state }: Draft): object {
  return { id, version, state };
}
