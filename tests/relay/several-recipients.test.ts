import { afterEach, describe, expect, test } from "bun:test";
import type { RelayOutcome } from "../../src/domain/outcome.ts";
import { type Relay, type SmtpRelayOptions, smtpRelay } from "../../src/relay/relay.ts";
import type { RelayedMail } from "../../src/relay/relayed-mail.ts";
import { mailTo } from "../support/relayed-mail.ts";
import { type Script, scriptedSmtp } from "../support/scripted-smtp.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function world(script: Script, options: Partial<SmtpRelayOptions> = {}) {
  const server = await scriptedSmtp(script);
  const relay: Relay = smtpRelay(
    { kind: "smtp", host: "127.0.0.1", port: server.port, tls: "off", login: undefined },
    {
      hostname: "inbox.test",
      timings: { connectMs: 5000, greetingMs: 5000, commandMs: 5000, dataMs: 5000 },
      ...options,
    },
  );
  open.push(server, relay);
  return { server, relay };
}

const raw = "Subject: Hi\r\n\r\nHello\r\n";
const three = mailTo(["a@example.com", "b@example.com", "c@example.com"], raw);

function inShort(outcomes: readonly RelayOutcome[]): string[] {
  return outcomes.map((outcome) => {
    if (outcome.kind === "sent") return `sent ${outcome.providerMessageId}`;
    const maybe = outcome.kind === "retry" && outcome.maybeAccepted ? " maybe" : "";
    return `${outcome.kind} ${outcome.failure.code ?? "-"}${maybe}`;
  });
}

type Move = ReturnType<NonNullable<Script["answer"]>>;

/** A script that answers lines with these beginnings, and all others as usual. */
function answers(moves: Record<string, Move>): Script {
  return { answer: (line) => Object.entries(moves).find(([start]) => line.startsWith(start))?.[1] };
}

const rows: [what: string, moves: Record<string, Move>, outcomes: string[], dataEnds: number][] = [
  ["all accepted", {}, ["sent 1A1", "sent 1A1", "sent 1A1"], 1],
  [
    "one taken, one refused, one put off",
    { "RCPT TO:<b": "550 5.1.1 No such user", "RCPT TO:<c": "450 4.2.0 Greylisted" },
    ["sent 1A1", "failed 550", "retry 450"],
    1,
  ],
  [
    "none taken, each in his own way",
    {
      "RCPT TO:<a": "550 5.1.1 No such user",
      "RCPT TO:<b": "450 4.2.0 Greylisted",
      "RCPT TO:<c": "553 5.1.3 What",
    },
    ["failed 550", "retry 450", "failed 553"],
    0,
  ],
  ["the sender refused", { MAIL: "550 5.7.1 Not you", RCPT: "503 5.5.1 MAIL first" }, Array(3).fill("failed 550"), 0],
  [
    "the content refused to those who were taken",
    { "RCPT TO:<a": "450 4.2.0 Greylisted", ".": "554 5.7.1 Spam" },
    ["retry 450", "failed 554", "failed 554"],
    1,
  ],
  [
    "the reply to the content lost",
    { "RCPT TO:<b": "550 5.1.1 No such user", ".": "hang up" },
    ["retry - maybe", "failed 550", "retry - maybe"],
    1,
  ],
  [
    "gone before the content",
    { "RCPT TO:<b": "550 5.1.1 No", DATA: "hang up" },
    ["retry -", "failed 550", "retry -"],
    0,
  ],
  ["a malformed reply about one of them", { "RCPT TO:<b": "5x5 what" }, ["sent 1A1", "retry -", "sent 1A1"], 1],
  [
    "DATA refused for now",
    { "RCPT TO:<b": "550 5.1.1 No", DATA: "451 4.3.0 Not now" },
    ["retry 451", "failed 550", "retry 451"],
    0,
  ],
];

describe.each([
  ["one after the other", []],
  ["with pipelining", ["PIPELINING"]],
])("each recipient has his own answer, %s", (_how, extensions: string[]) => {
  test.each(rows)("%s", async (_what, moves, expected, dataEnds) => {
    const { server, relay } = await world({ ...answers(moves), extensions });
    expect(inShort(await relay.send(three))).toEqual(expected);
    expect(server.commands.filter((line) => line === ".")).toHaveLength(dataEnds);
    expect(server.connections()).toBe(1);
  });

  test("recipients above the limit of a server are sent in another transaction", async () => {
    const { server, relay } = await world({ ...atMost(2), extensions });
    const names = Array.from({ length: 5 }, (_, index) => `r${index}@example.com`);
    expect(inShort(await relay.send(mailTo(names, raw)))).toEqual(
      ["1A1", "1A1", "1A2", "1A2", "1A3"].map((id) => `sent ${id}`),
    );
    expect(server.connections()).toBe(1);
    const taken = server.commands.filter((line) => /^(RCPT|\.)/.test(line));
    expect(taken.filter((line) => line === ".")).toHaveLength(3);
    expect(server.mails.map(({ raw }) => raw.toString())).toEqual([raw, raw, raw]);
  });
});

/** A server with a limit of recipients in a transaction. */
function atMost(most: number): Script {
  let taken = 0;
  return {
    answer(line) {
      if (line.startsWith("MAIL")) taken = 0;
      if (!line.startsWith("RCPT")) return undefined;
      taken += 1;
      return taken > most ? "452 4.5.3 Too many recipients" : undefined;
    },
  };
}

test("a server that accepts no recipient is not tried again at once", async () => {
  const { server, relay } = await world(atMost(0));
  expect(inShort(await relay.send(three))).toEqual(["retry 452", "retry 452", "retry 452"]);
  expect(server.commands.filter((line) => line.startsWith("MAIL"))).toHaveLength(1);
});

test("an address that the server cannot take fails alone", async () => {
  const mail = mailTo(["a@example.com", "жанна@example.com", "b@x>\r\nDATA", " c@example.com"], raw);
  const { server, relay } = await world({});
  expect(inShort(await relay.send(mail))).toEqual(["sent 1A1", "failed 553", "failed 553", "failed 553"]);
  expect(server.commands.filter((line) => line.startsWith("RCPT"))).toEqual(["RCPT TO:<a@example.com>"]);
});

describe("a server that offers DSN gets the requests for reports, with an ORCPT for each recipient", () => {
  const mail: RelayedMail = {
    ...mailTo([], raw),
    recipients: [
      { address: "a+b=c@example.com", orcpt: "a+b=c@example.com" },
      { address: "b@example.com" },
      { address: "c@example.com", orcpt: "Ж@example.com" },
    ],
    dsn: { ret: "HDRS", envid: "msg_1", notify: ["FAILURE", "DELAY"] },
  };

  // Fails if the library renames its private member `_getDsnRcptToArgs`, which is replaced for this.
  test.each([[["DSN"]], [["DSN", "PIPELINING"]]])("%p", async (extensions) => {
    const { server, relay } = await world({ extensions });
    expect(inShort(await relay.send(mail))).toEqual(Array(3).fill("sent 1A1"));
    expect(server.commands.slice(1, 5)).toEqual([
      "MAIL FROM:<bot@inbox.test> RET=HDRS ENVID=msg_1",
      "RCPT TO:<a+b=c@example.com> NOTIFY=FAILURE,DELAY ORCPT=rfc822;a+2Bb+3Dc@example.com",
      "RCPT TO:<b@example.com> NOTIFY=FAILURE,DELAY",
      "RCPT TO:<c@example.com> NOTIFY=FAILURE,DELAY ORCPT=utf-8;\\x{416}@example.com",
    ]);
    await relay.send(three);
    expect(server.commands).toContain("RCPT TO:<c@example.com>");
  });

  test("and one that does not offer DSN gets none", async () => {
    const { server, relay } = await world({});
    await relay.send(mail);
    expect(server.commands.slice(1, 3)).toEqual(["MAIL FROM:<bot@inbox.test>", "RCPT TO:<a+b=c@example.com>"]);
  });
});

describe("a streamed body", () => {
  const pieces = Array.from({ length: 200 }, (_, index) => `${String(index).padStart(5, "0")}${"x".repeat(1000)}\r\n`);
  const sizeBytes = pieces.join("").length;
  const streamed = (given: readonly string[]): RelayedMail => ({
    ...mailTo("a@example.com", ""),
    body: {
      sizeBytes,
      async *open() {
        for (const piece of given) yield Buffer.from(piece);
      },
    },
  });

  test("is sent byte for byte, also at the next attempt", async () => {
    const { server, relay } = await world({});
    const mail = streamed(pieces);
    expect(inShort(await relay.send(mail))).toEqual(["sent 1A1"]);
    expect(inShort(await relay.send(mail))).toEqual(["sent 1A2"]);
    expect(server.mails.map(({ raw }) => raw.toString() === pieces.join(""))).toEqual([true, true]);
  });

  test.each([
    ["is shorter than announced", pieces.slice(1)],
    ["is longer than announced", [...pieces, "more"]],
  ])("that %s is no mail", async (_what, given) => {
    const { server, relay } = await world({});
    expect(inShort(await relay.send(streamed(given)))).toEqual(["retry -"]);
    expect(server.mails).toEqual([]);
  });

  test("that cannot be read is not sent", async () => {
    const { server, relay } = await world({});
    const mail = {
      ...mailTo("a@example.com", ""),
      body: {
        sizeBytes: 3000,
        async *open() {
          yield Buffer.from("Subject: half\r\n");
          throw new Error("the disk is gone");
        },
      },
    };
    expect(await relay.send(mail)).toMatchObject([{ kind: "retry", maybeAccepted: false }]);
    expect(server.mails).toEqual([]);
  });
});
