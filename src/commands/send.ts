import { type Command, Option } from "commander";
import { type AutoSubmitted, autoSubmittedValues } from "../domain/automated.ts";
import { realWorld } from "../service/time-and-chance.ts";
import { type ApiClient, apiClient, ofServer, type ServerOptions } from "./api-client.ts";
import { reporting } from "./cli.ts";
import { reasonOf, UsageError } from "./failure.ts";
import { inboxIdOf } from "./find-inbox.ts";
import { alsoGiven, type FileOptions, filesOf, uploadedFiles } from "./send/files.ts";

interface SendOptions extends ServerOptions, FileOptions {
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
  replyTo?: string;
  thread?: string;
  replyToMessage?: string;
  replyAll?: boolean;
  forward?: string;
  forwardAs?: "inline" | "attachment";
  quote: boolean;
  key?: string;
  async?: boolean;
  autoSubmitted?: AutoSubmitted;
  ignoreLoop?: boolean;
  readUpTo?: string;
}

/** What the API answers, and what a caller would ask next. */
interface Sent {
  messageId: string;
  threadId: string;
  providerMessageId: string;
  status: "pending" | "sent" | "failed";
  /** Whether an earlier call with this key sent it, and this one nothing. */
  replayed: boolean;
  failure?: Failure | null;
  idempotencyKey: string;
}

interface Failure {
  code: number | null;
  enhancedCode: string | null;
  message: string;
}

/** One email from a script. */
export function sendCommand(program: Command): void {
  reporting(
    ofServer(program.command("send"))
      .description("send one email from an inbox of a running server")
      .requiredOption("--from <inbox>", "id or address of the inbox")
      .option("--from-name <name>", "the name beside its address")
      .option("--to <address>", "recipient; may be repeated, as --cc, --bcc, --attach and --inline", alsoGiven)
      .option("--cc <address>", "who gets a copy, as all see", alsoGiven)
      .option("--bcc <address>", "who gets a copy that nobody else sees", alsoGiven)
      .option("--subject <text>", "may be left out in a reply and a forward")
      .option("--body <text>", "plain text or HTML; - reads it from stdin")
      .addOption(new Option("--body-file <path>", "the same from a file; - is stdin").conflicts("body"))
      .option("--html <html>", "the HTML version; --body is then the text version, which is made from it if left out")
      .addOption(new Option("--markdown", "the body is Markdown, and the HTML is made from it").conflicts("html"))
      .option("--attach <file>", "a file to attach", alsoGiven)
      .option("--inline <id=file>", "an image that the HTML shows as cid:ID", alsoGiven)
      .option("--reply-to <address>", "where answers shall go instead of to the inbox")
      .option("--thread <id>", "thread to reply in")
      .option("--reply-to-message <id>", "message to answer, in its thread; without --to whom it is from")
      .option("--reply-all", "answer all whom that message names; without --to")
      .option("--forward <message>", "message to hand on, with its attachments")
      .addOption(
        new Option("--forward-as <way>", "its text below yours, or the whole mail as a file").choices([
          "inline",
          "attachment",
        ]),
      )
      .option("--read-up-to <message>", "with --thread: mark it as read up to this one, which is answered")
      .option("--no-quote", "reply without a copy of what is replied to")
      .addOption(
        new Option("--auto-submitted <kind>", "say in the mail that a program wrote it").choices(autoSubmittedValues),
      )
      .option("--ignore-loop", "with --thread: send also to a robot that has answered each mail")
      .option("--key <key>", "idempotency key: the same key sends once; made where left out")
      .option("--async", "don't wait for the first attempt to deliver it"),
    send,
    shownSent,
  );
}

async function send(options: SendOptions): Promise<Sent> {
  const { from, quote, key, async: isAsync = false, ...rest } = options;
  if (!quote && options.thread === undefined && options.replyToMessage === undefined) {
    throw new UsageError("Cannot send: --no-quote is for replies, with --thread or --reply-to-message");
  }
  const files = filesOf(rest);
  const api = apiClient(rest);
  const bodies = await bodiesOf(rest);
  const id = await inboxIdOf(api, from);
  const attachments = await uploadedFiles(api, files);
  const idempotencyKey = key ?? realWorld.randomBytes(16).toHex();
  const { body: sent, headers } = await api.askWhole<Omit<Sent, "replayed">>("POST", `/v1/inboxes/${id}/send`, {
    headers: { "idempotency-key": idempotencyKey, ...(isAsync && { prefer: "respond-async" }) },
    body: {
      ...fieldsOf(options),
      ...bodies,
      ...(attachments.length > 0 && { attachments }),
      ...(!quote && { includeQuote: false }),
    },
  });
  const replayed = headers.get("idempotent-replayed") === "true";
  if (sent.status !== "failed") return { ...sent, replayed, idempotencyKey };
  // It is recorded, so it is printed; a script that looks at the exit code alone shall know as well.
  process.exitCode = 1;
  return { ...sent, replayed, failure: await failureOf(api, sent.messageId), idempotencyKey };
}

/** In the names of the API. One recipient alone goes as every server knows it. */
function fieldsOf({ to, cc, bcc, subject, fromName, replyTo, ...options }: SendOptions): object {
  const { replyAll, forward: forwardOf, forwardAs, autoSubmitted, ignoreLoop } = options;
  return {
    ...{ to: to?.length === 1 ? to[0] : to, cc, bcc, subject, fromName, replyTo, replyAll, forwardOf, forwardAs },
    ...{ threadId: options.thread, replyToMessageId: options.replyToMessage, readUpToMessageId: options.readUpTo },
    ...{ autoSubmitted, ignoreLoop, bodyFormat: options.markdown ? "markdown" : undefined },
  };
}

/** The API's two fields. HTML alone is its `body`, begun in the way by which the API knows a page from text that has tags. */
async function bodiesOf({
  body,
  bodyFile,
  html,
  forward,
}: Pick<SendOptions, "body" | "bodyFile" | "html" | "forward">) {
  const text = bodyFile === undefined && body !== "-" ? body : await contentOf(bodyFile ?? "-");
  if (text === undefined && html === undefined) {
    if (forward !== undefined) return {};
    throw new UsageError("Cannot send: there is nothing to say: give --body, --body-file or --html");
  }
  if (text !== undefined) return { body: text, bodyHtml: html };
  const isPage = html !== undefined && /^\s*<(?:!doctype html|html)\b/i.test(html);
  return { body: isPage ? html : `<!doctype html>\n${html}` };
}

async function contentOf(path: string): Promise<string> {
  try {
    return path === "-" ? await Bun.stdin.text() : await Bun.file(path).text();
  } catch (error) {
    throw new Error(`Cannot read ${path === "-" ? "stdin" : path}: ${reasonOf(error)}`);
  }
}

/** Why it failed is the message's own to tell; that it failed stays told where this can't be had. */
async function failureOf(api: ApiClient, messageId: string): Promise<Failure | null> {
  const message = await api
    .ask<{ failure: Failure | null }>("GET", `/v1/messages/${messageId}`)
    .catch(() => ({ failure: null }));
  return message.failure;
}

function shownSent({ replayed, failure, ...sent }: Sent): object {
  return {
    ...sent,
    ...(failure && { failure: shownFailure(failure) }),
    ...(replayed && { replayed: "yes: an earlier call with this key sent it, this one sent nothing" }),
  };
}

/** As the server said it: some texts begin with the codes themselves. */
function shownFailure({ code, enhancedCode, message }: Failure): string {
  if (code === null || message.startsWith(String(code))) return message;
  return enhancedCode === null ? `${code} ${message}` : `${code} ${enhancedCode} ${message}`;
}
