import { type Command, Option } from "commander";
import { type ApiClient, apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { reporting } from "../cli.ts";
import { UsageError } from "../failure.ts";
import { inboxIdOf } from "../find-inbox.ts";
import type { Calendar } from "../short-time.ts";
import { tell } from "../terminal.ts";
import { wholeMessage } from "./messages.ts";
import { type Message, pathOf } from "./shapes.ts";

interface WaitOptions extends ServerOptions {
  from?: string;
  to?: string;
  subject?: string;
  has?: string;
  after?: string;
  timeout: string;
  code?: boolean;
  link?: boolean;
}

/** What the API answers. */
interface Waited {
  message: WaitedMessage | null;
  cursor: string;
}

interface WaitedMessage extends Message {
  codes?: { code: string }[];
  links?: { url: string; kind: string | null }[];
}

/** Waits for one mail, from a script. */
export function waitCommand(program: Command): void {
  reporting(
    ofServer(program.command("wait <inbox>"))
      .description(
        "wait for a mail to an inbox (its id or address) and print it; ends with 1 when none came in time, with 2 for anything else",
      )
      .option("--from <sender>", "address, @domain, or a part of address or name")
      .option("--to <address>", "the address that it was sent to, with its +tag")
      .option("--subject <text>", "a part of the subject")
      .option("--has <words>", "code, link or attachment, with commas between")
      .option("--after <place>", "id of a message, or what an earlier wait ended with: the first mail behind it")
      .option("--timeout <seconds>", "0 looks at what is there", "30")
      .option("--code", "print nothing but the code in it")
      .addOption(new Option("--link", "print nothing but the link in it").conflicts("code")),
    wait,
    shownWait,
  );
}

/** A script may wait again after 1, and ends on anything else, as a revoked key. */
async function wait(inbox: string, options: WaitOptions): Promise<Waited> {
  try {
    return await waitOnce(inbox, options);
  } catch (error) {
    process.exitCode = 2;
    throw error;
  }
}

async function waitOnce(inbox: string, options: WaitOptions): Promise<Waited> {
  const { from, to, subject, has, after, timeout, code = false, link = false, ...server } = options;
  if (!/^\d{1,6}$/.test(timeout)) throw new UsageError("Cannot wait: --timeout must be a whole number of seconds");
  const api = apiClient(server);
  const words = new Set([...(has?.split(",") ?? []), ...(code ? ["code"] : []), ...(link ? ["link"] : [])]);
  const query = { from, to, subject, has: words.size === 0 ? undefined : [...words].join(",") };
  const waited = await waitFor(api, await inboxIdOf(api, inbox), { ...query, after }, Number(timeout));
  if (waited.message === null) {
    process.exitCode = 1;
    tell(`No mail came in time: go on with --after ${waited.cursor}\n`, process.stderr);
  }
  return waited;
}

type WaitQuery = Partial<Record<"from" | "to" | "subject" | "has" | "after", string | undefined>>;

/** One wait after the other, until the time is over. A server that stops ends a wait early: the next one goes on where it stood. */
async function waitFor(api: ApiClient, id: string, query: WaitQuery, seconds: number): Promise<Waited> {
  const endMs = performance.now() + seconds * 1000;
  for (let after = query.after; ; ) {
    const left = Math.ceil((endMs - performance.now()) / 1000);
    const timeout = Math.max(0, Math.min(left, longestWait));
    const waited = await api.ask<Waited>("GET", pathOf("inboxes", id, "/wait"), {
      query: { ...query, after, timeout },
    });
    if (waited.message !== null || performance.now() >= endMs) return waited;
    after = waited.cursor;
  }
}

/** Seconds. Shorter than a proxy in between has patience for. */
const longestWait = 25;

function shownWait({ message }: Waited, calendar: Calendar, _inbox: string, { code, link }: WaitOptions): string {
  if (message === null) return "";
  if (code) return `${message.codes?.[0]?.code ?? ""}\n`;
  if (link) return `${linkOf(message)}\n`;
  return wholeMessage(message, calendar);
}

/** What somebody is to follow, and not what he may follow to be left alone. */
function linkOf({ links = [] }: WaitedMessage): string {
  const known = links.filter(({ kind }) => kind !== null);
  return (known.find(({ kind }) => kind !== "unsubscribe") ?? known[0])?.url ?? "";
}
