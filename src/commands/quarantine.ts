import { type Command, Option } from "commander";
import type { Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { type QuarantineReason, quarantineReasons } from "../domain/policy.ts";
import { printMoreHint, reporting } from "./cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "./client.ts";
import { lines } from "./print.ts";
import { type Calendar, fullTime, shortTime } from "./short-time.ts";

interface ListOptions extends ServerOptions {
  inbox?: string;
  reason?: QuarantineReason;
  limit: string;
  cursor?: string;
}

interface ShowOptions extends ServerOptions {
  raw?: boolean;
}

export function quarantineCommands(program: Command): void {
  const quarantine = program.command("quarantine").description("manage mail that rules and policies have blocked");
  reporting(
    ofServer(quarantine.command("list"))
      .description("list blocked mail, newest first")
      .option("--inbox <inbox>", "list only mail to this inbox: its id or address")
      .addOption(new Option("--reason <reason>", "list only this reason").choices(quarantineReasons))
      .option("--limit <number>", "the most mails to list, 1 to 100", "50")
      .option("--cursor <cursor>", "continue a list at this cursor"),
    async ({ inbox, reason, limit, cursor, ...server }: ListOptions) => {
      const client = clientOf(server);
      const inbox_id = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
      return client.quarantine.list({ inbox_id, reason, limit: unchecked(limit), cursor }).page();
    },
    ({ data, nextCursor }, calendar) => {
      if (nextCursor !== null) printMoreHint(`--cursor ${nextCursor}`);
      return data.map(({ receivedAt, reason, fromAddr, toAddr, subject, messageId, id }) => ({
        time: shortTime(receivedAt, calendar),
        reason,
        from: fromAddr,
        to: toAddr,
        subject,
        released: messageId === null ? "no" : "yes",
        id,
      }));
    },
  );
  reporting(
    ofServer(quarantine.command("show <id>"))
      .description("print one blocked mail: who wrote it, why it was blocked, and its first words")
      .addOption(new Option("--raw", "print the mail itself, byte by byte").conflicts("json")),
    show,
    (mail, calendar) => (mail instanceof Uint8Array ? mail : shown(mail, calendar)),
  );
  reporting(
    ofServer(quarantine.command("release <id>")).description("make a blocked mail a message of its inbox"),
    (id: string, server: ServerOptions) => clientOf(server).quarantine.release(id),
  );
  reporting(
    ofServer(quarantine.command("delete <id>")).description("delete a blocked mail; a message that it became stays"),
    async (id: string, server: ServerOptions) => {
      await clientOf(server).quarantine.delete(id);
      return { deleted: id };
    },
  );
}

async function show(
  id: string,
  { raw = false, ...server }: ShowOptions,
): Promise<Schemas["QuarantinedMail"] | Uint8Array> {
  const { quarantine } = clientOf(server);
  return raw ? quarantine.raw(id) : quarantine.get(id);
}

function shown(mail: Schemas["QuarantinedMail"], calendar: Calendar): string {
  const { fromAddr, fromName, toAddr, envelopeFrom, subject, reason, ruleId, authentication, messageId } = mail;
  const head = {
    time: fullTime(mail.receivedAt, calendar),
    from: fromName ? `${fromName} <${fromAddr}>` : fromAddr,
    "envelope sender": envelopeFrom === "" ? "none" : envelopeFrom,
    to: toAddr,
    subject,
    reason: ruleId === null ? reason : `${reason} ${ruleId}`,
    sender: authentication?.verdict ?? "not checked",
    expires: fullTime(mail.expiresAt, calendar),
    released: messageId ?? "no",
    id: mail.id,
  };
  return `${lines(head)}\n${mail.preview}\n`;
}
