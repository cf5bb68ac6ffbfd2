import { type Command, Option } from "commander";
import type { Inboxd, Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { draftStates } from "../domain/send/draft.ts";
import { realWorld } from "../service/time-and-chance.ts";
import { printMoreHint, reporting } from "./cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "./client.ts";
import { lines } from "./print.ts";
import { type Calendar, fullTime, shortTime } from "./short-time.ts";

type Draft = Schemas["Draft"];

interface ListOptions extends ServerOptions {
  inbox?: string;
  state?: Draft["state"];
  limit: string;
  cursor?: string;
}

interface SendOptions extends ServerOptions {
  at?: string;
  key?: string;
}

export function draftCommands(program: Command): void {
  const drafts = program
    .command("drafts")
    .description("manage mail that is written, scheduled or waits for approval, and not sent yet");
  reporting(
    ofServer(drafts.command("list"))
      .description("list mail that is not sent yet, newest first")
      .option("--inbox <inbox>", "list only those of this inbox: its id or address")
      .addOption(
        new Option("--state <state>", "list those in this state instead of the open ones").choices(draftStates),
      )
      .option("--limit <number>", "the most drafts to list, 1 to 100", "50")
      .option("--cursor <cursor>", "continue a list at this cursor"),
    async ({ inbox, state, limit, cursor, ...server }: ListOptions) => {
      const client = clientOf(server);
      const inbox_id = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
      return client.drafts.list({ inbox_id, ...(state && { state: [state] }), limit: unchecked(limit), cursor }).page();
    },
    ({ data, nextCursor }, calendar) => {
      if (nextCursor !== null) printMoreHint(`--cursor ${nextCursor}`);
      return data.map(({ createdAt, state, sendAt, to, subject, id }) => ({
        written: shortTime(createdAt, calendar),
        state,
        "sent at": sendAt === null ? null : shortTime(sendAt, calendar),
        to: to.map(({ address }) => address).join(", "),
        subject,
        id,
      }));
    },
  );
  reporting(
    ofServer(drafts.command("show <id>")).description("print one draft"),
    (id: string, server: ServerOptions) => clientOf(server).drafts.get(id),
    shown,
  );
  reporting(
    ofServer(drafts.command("send <id>"))
      .description("send a draft now, at --at, or at the time that it has")
      .option("--at <time>", "when to send it, such as 2027-01-15T09:00:00+01:00")
      .option("--key <key>", "idempotency key (default: a random key)"),
    async (id: string, { at, key, ...server }: SendOptions) => {
      const options = { idempotencyKey: key ?? realWorld.randomBytes(16).toHex() };
      return clientOf(server).drafts.send(id, at === undefined ? {} : { sendAt: at }, options);
    },
  );
  reporting(
    ofServer(drafts.command("discard <id>")).description(
      "remove a draft, or cancel a mail that is scheduled or waits for approval",
    ),
    discard,
  );
}

async function discard(id: string, server: ServerOptions): Promise<object> {
  const client: Inboxd = clientOf(server);
  await client.drafts.discard(id);
  return { discarded: id };
}

/** The recipients in one line, each with the mark that `markOf` has for its address. */
export function addressees(of: Draft["to"], markOf: (address: string) => string = () => ""): string {
  return of.map(({ address, name }) => `${name ? `${name} <${address}>` : address}${markOf(address)}`).join(", ");
}

function shown(draft: Draft, calendar: Calendar): string {
  const head = {
    id: draft.id,
    state: draft.state,
    version: draft.version,
    to: addressees(draft.to),
    ...(draft.cc.length > 0 && { cc: addressees(draft.cc) }),
    ...(draft.bcc.length > 0 && { bcc: addressees(draft.bcc) }),
    subject: draft.subject ?? "",
    written: fullTime(draft.createdAt, calendar),
    ...(draft.sendAt !== null && { "sent at": fullTime(draft.sendAt, calendar) }),
    ...(draft.replyToMessageId !== null && { answers: draft.replyToMessageId }),
    ...(draft.attachments.length > 0 && { files: draft.attachments.map(({ filename }) => filename).join(", ") }),
    ...(draft.failure !== null && { failure: draft.failure.message }),
  };
  return `${lines(head)}\n${draft.body ?? draft.bodyHtml ?? ""}\n`;
}
