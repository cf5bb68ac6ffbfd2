import { type Command, Option } from "commander";
import type { Inboxd, Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { reporting } from "../cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "../client.ts";
import { UsageError } from "../failure.ts";
import type { Calendar } from "../short-time.ts";
import { print } from "../terminal.ts";
import { wholeMessage } from "./messages.ts";

interface WaitOptions extends ServerOptions {
  from?: string;
  to?: string;
  subject?: string;
  has?: string;
  after?: string;
  since?: string;
  thread?: string;
  timeout: string;
  code?: boolean;
  link?: boolean;
}

type WaitAnswer = Schemas["WaitAnswer"];

export function waitCommand(program: Command): void {
  reporting(
    ofServer(program.command("wait <inbox>"))
      .description(
        "wait for a mail to an inbox (its id or address) and print it; exits with 1 if none came in time, with 2 for any other failure",
      )
      .option("--from <sender>", "address, @domain, or a part of the address or name")
      .option("--to <address>", "the recipient's address, with its +tag")
      .option("--subject <text>", "a part of the subject")
      .option("--has <words>", "code, link or attachment, separated by commas")
      .option("--after <cursor>", "id of a message, or the cursor of an earlier wait: take the first mail after it")
      .addOption(
        new Option(
          "--since <time>",
          "without --after: also take mail that came since this instant (default: a minute ago)",
        ).conflicts("after"),
      )
      .option("--thread <id>", "only mail of this thread")
      .option("--timeout <seconds>", "how long to wait; 0 only checks the mail that is there", "30")
      .option("--code", "print only the code in the mail")
      .addOption(new Option("--link", "print only the link in the mail").conflicts("code")),
    wait,
    shownWait,
  );
}

/**
 * Sets exit code 2 for any failure, such as a revoked key. Exit code 1 only means that no mail came in time, and scripts then wait again.
 */
async function wait(inbox: string, options: WaitOptions): Promise<WaitAnswer> {
  try {
    return await waitOnce(inbox, options);
  } catch (error) {
    process.exitCode = 2;
    throw error;
  }
}

async function waitOnce(inbox: string, options: WaitOptions): Promise<WaitAnswer> {
  const { from, to, subject, has, after, since, thread, timeout, code = false, link = false, ...server } = options;
  if (!/^\d{1,6}$/.test(timeout)) throw new UsageError("Cannot wait: --timeout must be a whole number of seconds");
  const client = clientOf(server);
  const words = new Set([...(has?.split(",") ?? []), ...(code ? ["code"] : []), ...(link ? ["link"] : [])]);
  const all = words.size === 0 ? undefined : [...words].join(",");
  const query = { from, to, subject, has: all, after, since, thread_id: thread };
  const waited = await waitFor(client, await inboxIdOf(client, inbox), query, Number(timeout));
  if (waited.message === null) {
    process.exitCode = 1;
    print(`No mail came in time: go on with --after ${waited.cursor}\n`, process.stderr);
  }
  return waited;
}

type WaitQuery = Partial<
  Record<"from" | "to" | "subject" | "has" | "after" | "since" | "thread_id", string | undefined>
>;

/** Repeats short waits until a mail comes or the time is over. A server that stops answers a wait early, and the wait is then repeated. */
async function waitFor(client: Inboxd, id: string, query: WaitQuery, seconds: number): Promise<WaitAnswer> {
  const endMs = performance.now() + seconds * 1000;
  for (let { after, since } = query; ; ) {
    const left = Math.ceil((endMs - performance.now()) / 1000);
    const timeout = Math.max(0, Math.min(left, longestWaitSeconds));
    const waited = await client.messages.wait(id, { ...query, has: unchecked(query.has), after, since, timeout });
    if (waited.message !== null || performance.now() >= endMs) return waited;
    after = waited.cursor;
    since = undefined;
  }
}

/** The longest single wait, shorter than the usual time-out of a proxy. */
const longestWaitSeconds = 25;

function shownWait({ message }: WaitAnswer, calendar: Calendar, _inbox: string, { code, link }: WaitOptions): string {
  if (message === null) return "";
  if (code) return `${message.codes[0]?.code ?? ""}\n`;
  if (link) return `${linkOf(message)}\n`;
  return wholeMessage(message, calendar);
}

/** The link that the mail is about: the first one of a known kind. One to unsubscribe is taken only if there is no other. */
function linkOf({ links }: Schemas["Message"]): string {
  const known = links.filter(({ kind }) => kind !== null);
  return (known.find(({ kind }) => kind !== "unsubscribe") ?? known[0])?.url ?? "";
}
