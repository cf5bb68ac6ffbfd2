import { basename } from "node:path";
import { type Command, Option } from "commander";
import type { Inboxd, OrUndefined, OutgoingFile, Schemas, Sent } from "../../sdk/typescript/src/inboxd.ts";
import { autoSubmittedValues } from "../domain/automated.ts";
import { realWorld } from "../service/time-and-chance.ts";
import { reporting } from "./cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions } from "./client.ts";
import { reasonOf, UsageError } from "./failure.ts";
import { shownFailure } from "./read/status.ts";

type NewEmail = Schemas["NewEmail"];
type Failure = Schemas["Failure"];

interface SendOptions extends ServerOptions {
  from: string;
  fromName?: string;
  to?: string[];
  cc?: string[];
  bcc?: string[];
  subject?: string;
  body?: string;
  bodyFile?: string;
  html?: string;
  markdown?: boolean;
  attach?: string[];
  inline?: string[];
  replyTo?: string;
  thread?: string;
  replyToMessage?: string;
  replyAll?: boolean;
  forward?: string;
  forwardAs?: NonNullable<NewEmail["forwardAs"]>;
  quote: boolean;
  key?: string;
  async?: boolean;
  autoSubmitted?: NonNullable<NewEmail["autoSubmitted"]>;
  ignoreLoop?: boolean;
  readUpTo?: string;
  ifUnanswered?: boolean;
  unsubscribe?: boolean;
  at?: string;
  unlessReplied?: boolean;
}

/** The result of the API, with the idempotency key for a retry. */
interface Result extends Sent {
  failure?: Failure | null;
  idempotencyKey: string;
}

export function sendCommand(program: Command): void {
  reporting(
    ofServer(program.command("send"))
      .description("send one email from an inbox of a running server")
      .requiredOption("--from <inbox>", "id or address of the inbox")
      .option("--from-name <name>", "the sender's name")
      .option("--to <address>", "recipient; may be repeated, like --cc, --bcc, --attach and --inline", repeated)
      .option("--cc <address>", "recipient of a copy, visible to all", repeated)
      .option("--bcc <address>", "recipient of a copy, hidden from the others", repeated)
      .option("--subject <text>", "optional for a reply and a forward")
      .option("--body <text>", "plain text or HTML; - reads it from stdin")
      .addOption(new Option("--body-file <path>", "read the body from a file; - is stdin").conflicts("body"))
      .option("--html <html>", "the HTML version; --body is then the text version, made from the HTML by default")
      .addOption(new Option("--markdown", "the body is Markdown, and the HTML is made from it").conflicts("html"))
      .option("--attach <file>", "a file to attach", repeated)
      .option("--inline <id=file>", "an image that the HTML shows as cid:ID", repeated)
      .option("--reply-to <address>", "where replies go instead of to the inbox")
      .option("--thread <id>", "thread to reply in")
      .option("--reply-to-message <id>", "message to reply to, in its thread; without --to, to its sender")
      .option("--reply-all", "reply to all recipients of that message; without --to")
      .option("--forward <message>", "message to forward, with its attachments")
      .addOption(
        new Option("--forward-as <way>", "quote its text below yours, or attach the whole mail").choices([
          "inline",
          "attachment",
        ]),
      )
      .option("--read-up-to <message>", "with --thread: mark the thread as read up to this message")
      .option("--if-unanswered", "with --read-up-to: send only if no answer of this inbox stands behind that message")
      .option("--no-quote", "do not quote the message that this one replies to")
      .addOption(
        new Option("--auto-submitted <kind>", "mark the mail as written by a program").choices(autoSubmittedValues),
      )
      .option("--ignore-loop", "with --thread: send even if a robot has answered each mail")
      .option("--at <time>", "send it at this time, such as 2027-01-15T09:00:00+01:00")
      .option("--unless-replied", "with --at and --thread: only if no mail comes into the thread until then")
      .option("--unsubscribe", "let the recipient unsubscribe from the inbox with one click")
      .option("--key <key>", "idempotency key: a mail with the same key is sent once (default: a random key)")
      .option("--async", "do not wait for the first delivery attempt"),
    send,
    shownResult,
  );
}

/** Adds a value to the earlier ones of a repeated option. */
function repeated(value: string, before: string[] = []): string[] {
  return [...before, value];
}

async function send(options: SendOptions): Promise<Result> {
  const { from, quote, key, async: isAsync = false } = options;
  if (!quote && options.thread === undefined && options.replyToMessage === undefined) {
    throw new UsageError("Cannot send: --no-quote is for replies, with --thread or --reply-to-message");
  }
  const files = filesOf(options);
  const client = clientOf(options);
  const bodies = await bodiesOf(options);
  const id = await inboxIdOf(client, from);
  const attachments = await outgoing(files);
  const idempotencyKey = key ?? realWorld.randomBytes(16).toHex();
  const email = {
    ...fieldsOf(options),
    ...bodies,
    ...(attachments.length > 0 && { attachments }),
    ...(!quote && { includeQuote: false }),
  };
  const sent = await client.messages.send(id, email, {
    idempotencyKey,
    ...(isAsync && { headers: { prefer: "respond-async" } }),
  });
  if (sent.status !== "failed") return { ...sent, idempotencyKey };
  // A failed send is printed like any other result, so the exit code shows the failure to scripts.
  process.exitCode = 1;
  return { ...sent, failure: await failureOf(client, sent.messageId), idempotencyKey };
}

/** The options as fields of the API's request. */
function fieldsOf(options: SendOptions): Omit<OrUndefined<NewEmail>, "body"> {
  const { to } = options;
  return {
    to: to?.length === 1 ? to[0] : to,
    cc: options.cc,
    bcc: options.bcc,
    subject: options.subject,
    fromName: options.fromName,
    replyTo: options.replyTo,
    replyAll: options.replyAll,
    forwardOf: options.forward,
    forwardAs: options.forwardAs,
    threadId: options.thread,
    replyToMessageId: options.replyToMessage,
    readUpToMessageId: options.readUpTo,
    ifUnanswered: options.ifUnanswered,
    autoSubmitted: options.autoSubmitted,
    ignoreLoop: options.ignoreLoop,
    unsubscribe: options.unsubscribe,
    sendAt: options.at,
    unlessReplied: options.unlessReplied,
    bodyFormat: options.markdown ? "markdown" : undefined,
  };
}

/**
 * Makes `body` and `bodyHtml` of the request. If there is only HTML, it is sent as `body`, with a doctype if it needs one, so that the API
 * recognises it as HTML.
 */
async function bodiesOf({ body, bodyFile, html, forward }: SendOptions): Promise<Pick<NewEmail, "body" | "bodyHtml">> {
  const text = bodyFile === undefined && body !== "-" ? body : await contentOf(bodyFile ?? "-");
  if (text !== undefined) return { body: text, ...(html !== undefined && { bodyHtml: html }) };
  if (html === undefined) {
    if (forward !== undefined) return {};
    throw new UsageError("Cannot send: there is no body: give --body, --body-file or --html");
  }
  const isPage = /^\s*<(?:!doctype html|html)\b/i.test(html);
  return { body: isPage ? html : `<!doctype html>\n${html}` };
}

async function contentOf(path: string): Promise<string> {
  try {
    return path === "-" ? await Bun.stdin.text() : await Bun.file(path).text();
  } catch (error) {
    throw new Error(`Cannot read ${path === "-" ? "stdin" : path}: ${reasonOf(error)}`);
  }
}

interface SentFile {
  path: string;
  contentId?: string;
}

/** The files of the options. Throws for a wrong option before any request to the server. */
function filesOf({ attach = [], inline = [] }: SendOptions): SentFile[] {
  return [...inline.map(inlineFile), ...attach.map((path) => ({ path }))];
}

function inlineFile(given: string): SentFile {
  const at = given.indexOf("=");
  if (at < 1 || at === given.length - 1) {
    throw new UsageError(`Cannot send: --inline takes ID=FILE, such as logo=logo.png, not ${JSON.stringify(given)}`);
  }
  return { contentId: given.slice(0, at), path: given.slice(at + 1) };
}

/** The files as the client sends them. Throws if one cannot be read. */
async function outgoing(files: readonly SentFile[]): Promise<OutgoingFile[]> {
  return Promise.all(
    files.map(async ({ path, contentId }) => {
      const content = Bun.file(path);
      await content.stat().catch((error: unknown) => {
        throw new Error(`Cannot read ${path}: ${reasonOf(error)}`);
      });
      return { filename: basename(path), content, ...(contentId !== undefined && { inline: true, contentId }) };
    }),
  );
}

/** The reason of the failure, from the stored message; null if the message cannot be fetched. */
async function failureOf(client: Inboxd, messageId: string): Promise<Failure | null> {
  const message = await client.messages.get(messageId).catch(() => undefined);
  return message?.failure ?? null;
}

function shownResult({ replayed, failure, ...sent }: Result): object {
  return {
    ...sent,
    ...(failure && { failure: shownFailure(failure) }),
    ...(replayed && { replayed: "yes: an earlier call with this key sent it, this one sent nothing" }),
  };
}
