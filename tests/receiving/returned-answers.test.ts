import { describe, expect, test } from "bun:test";
import { daemon, head, plain, returnedMail } from "../mail/report/fixtures.ts";
import { enginesHere } from "../support/engines.ts";
import { report, sent, signingKey, suppressed } from "../support/reported.ts";
import { send } from "../support/sends.ts";
import type { World } from "../support/world.ts";
import { oneWorldOn, worldsOn } from "../support/world-on.ts";

const limits = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", INBOXES_PER_DAY: "0" };
const env = { SIGNING_KEY: signingKey, SEND_WAIT_MS: "20000", ...limits };

let mails = 0;

/** A mail to a new address, and its later state. */
async function sentToMax(world: World) {
  const max = `max-${++mails}@v.example`;
  const inbox = await world.inbox();
  const { id, returnPath } = await sent(world, inbox.id, max);
  const { body: message } = await world.api(`/v1/messages/${id}`);
  return {
    id,
    inbox,
    max,
    returnPath,
    threadId: message.threadId,
    tell: (mail: string, to: string = returnPath, from = "") =>
      report(
        world,
        mail.replaceAll("max@v.example", max).replaceAll("<m1@mail.example>", `<${id}@inbox.localhost>`),
        to,
        from,
      ),
    delivery: async () => (await world.api(`/v1/messages/${id}`)).body.delivery,
    received: async () => (await world.api(`/v1/inboxes/${inbox.id}/messages?direction=inbound`)).body.data,
    suppressed: async () => (await suppressed(world)).find(({ address }) => address === max),
  };
}

const written = (from: string, subject: string, text: string) =>
  `${head(from, subject)}Content-Type: text/plain; charset=utf-8\n\n${text}\n`;

const answers: readonly (readonly [what: string, mail: string])[] = [
  [
    "that somebody has left",
    written("Front desk <office@v.example>", "Re: Hello", "Max no longer works here. Please write to bob@v.example."),
  ],
  [
    "with a privacy policy below it",
    written(
      "Support <help@v.example>",
      "Ticket 4711",
      "We got your request.\n\nSee our privacy policy: https://v.example/p",
    ),
  ],
  [
    "about the spam folder",
    written("Shop <shop@v.example>", "Welcome", "Thanks! If you miss our answer, please check your spam folder."),
  ],
  [
    "with a disclaimer below it",
    written(
      "Max <max@v.example>",
      "Away",
      "I am away until Monday.\n\nThis mail is confidential. Unauthorized use is prohibited. Any unauthorised copy is a violation.",
    ),
  ],
  [
    "of the recipient, who quotes the mail and a code",
    written("Max <max@v.example>", "Away", `My mailbox is full, error 552 5.2.2.\n\n${returnedMail}`),
  ],
  [
    "with an address that begins like a code, and the recipient's name",
    written("Office <office@v.example>", "Closed", "We moved.\n\n550 Main Street\nmax@v.example"),
  ],
  ["that says 4.1.0 of a program, from a person", written("Ann <ann@v.example>", "Release", "We ship 4.1.0 today.")],
  [
    "as Outlook quotes what it answers",
    written(
      "Team <team@v.example>",
      "Re: Hello",
      "Max is not with us any more.\n\nFrom: Ada <ada@inbox.localhost>\nSent: Monday\nTo: max@v.example\nSubject: Hello\n\nHi",
    ),
  ],
  [
    "of a postmaster's program about an absence",
    written("postmaster@v.example", "Automatic reply: Hello", "I am out of the office. Answers may be delayed."),
  ],
];

describe.each(enginesHere())("At a return path (%s)", (engine) => {
  const world = oneWorldOn(engine, { env });
  const startWorld = worldsOn(engine);

  test.each(answers)(
    "a reply with an empty sender %s is stored as mail in the thread that it replies to",
    async (_, mail) => {
      const own = await sentToMax(world());
      expect(await own.tell(mail)).toStartWith("250");
      expect(await own.received()).toMatchObject([{ threadId: own.threadId, toAddr: own.inbox.address }]);
      expect(await own.delivery()).toBeNull();
      expect(await own.suppressed()).toBeUndefined();
    },
  );

  test("a reply that names another mail of the inbox is stored in the thread of that one", async () => {
    const own = await sentToMax(world());
    const other = await sent(world(), own.inbox.id);
    const { body } = await world().api(`/v1/messages/${other.id}`);
    const [, mail = ""] = answers[0] ?? [];
    await own.tell(mail.replace("\nSubject:", `\nIn-Reply-To: <${other.id}@inbox.localhost>\nSubject:`));
    expect(await own.received()).toMatchObject([{ threadId: body.threadId }]);
  });

  test("a reply does not make its sender a known correspondent by the return path alone", async () => {
    await using strict = await startWorld({ env: { ...env, COLD_RECIPIENT_DAILY: "1" } });
    const own = await sentToMax(strict);
    await own.tell(written("Max <max@v.example>", "Away", "I am away."));
    expect(await own.received()).toHaveLength(1);
    const again = await send(strict, own.inbox.id, { to: own.max });
    expect(again).toMatchObject({ status: 429, body: { code: "cold_outreach_limit" } });
  });

  const gateway = "Mail Gateway <gateway@reporter.example>";
  const two: readonly (readonly [what: string, text: string, type: string, isSuppressed: boolean])[] = [
    ["a code and the recipient", "max@v.example: 550 5.1.1 User unknown", "hard", true],
    ["a code and the returned mail", `The server said: 550 5.1.1 User unknown\n\n${returnedMail}`, "hard", true],
    ["the recipient and the returned mail", `max@v.example is unknown: no such user\n\n${returnedMail}`, "hard", false],
    ["the recipient and a full mailbox in words", `max@v.example: mailbox is full\n\n${returnedMail}`, "soft", false],
  ];
  test.each(two)("an empty sender with %s is a bounce", async (_, text, type, isSuppressed) => {
    const own = await sentToMax(world());
    await own.tell(written(gateway, "Problem", text));
    expect(await own.delivery()).toMatchObject({ state: "bounced", type });
    expect(await own.received()).toEqual([]);
    expect((await own.suppressed()) !== undefined).toBe(isSuppressed);
  });

  test("a bounce from a mail server suppresses, after a bounce that was only text", async () => {
    const own = await sentToMax(world());
    const text = `max@v.example is unknown: no such user\n\n${returnedMail}\n`;
    await own.tell(written(gateway, "Problem", text));
    expect(await own.suppressed()).toBeUndefined();
    await own.tell(plain(text));
    expect(await own.suppressed()).toMatchObject({ reason: "bounce" });
  });

  test("a warning from a server is a delay, also without the returned mail", async () => {
    const own = await sentToMax(world());
    const text = "Delivery of your mail is delayed. It will be tried again for 3 days.\n\n  max@v.example\n";
    await own.tell(plain(text, { from: daemon, more: "Auto-Submitted: auto-replied\n" }));
    expect(await own.delivery()).toMatchObject({ state: "delayed" });
    expect(await own.received()).toEqual([]);
  });
});

/** A complaint in the format of Hotmail and Outlook.com. */
const complaint = (field: string) =>
  `${head("staff@hotmail.com", "complaint about message from 192.0.2.9", 'Content-Type: multipart/mixed; boundary="b1"\n')}\n--b1\nContent-Type: message/rfc822\nContent-Disposition: inline\n\n${field}${returnedMail}\n\nHello\n--b1--\n`;
const ofMicrosoft = complaint("X-HmXmrOriginalRecipient: <max@v.example>\nX-SID-PRA: ada@mail.example\n");

describe.each(enginesHere())("A complaint from Microsoft (%s)", (engine) => {
  const world = oneWorldOn(engine, { env });

  test("to the return path is accepted, and suppresses", async () => {
    const own = await sentToMax(world());
    await own.tell(ofMicrosoft, own.returnPath, "staff@hotmail.com");
    expect(await own.delivery()).toMatchObject({ state: "complained", source: "arf", proof: "return_path" });
    expect(await own.suppressed()).toMatchObject({ reason: "complaint" });
    expect(await own.received()).toEqual([]);
  });

  test("to an inbox is proven by the return path in the header of the mail", async () => {
    const own = await sentToMax(world());
    const mail = ofMicrosoft.replace("Received:", `Return-Path: <${own.returnPath}>\nReceived:`);
    await own.tell(mail, own.inbox.address, "staff@hotmail.com");
    expect(await own.delivery()).toMatchObject({ state: "complained", proof: "return_path" });
    expect(await own.suppressed()).toMatchObject({ reason: "complaint" });
    expect(await own.received()).toHaveLength(1);
  });

  test("to an inbox that names only the Message-ID is notified and suppresses no address", async () => {
    const own = await sentToMax(world());
    await own.tell(ofMicrosoft, own.inbox.address, "staff@hotmail.com");
    expect(await own.delivery()).toMatchObject({ state: "complained", proof: "message_id" });
    expect(await own.suppressed()).toBeUndefined();
  });

  test("without its special field is a forwarded mail", async () => {
    const own = await sentToMax(world());
    await own.tell(complaint(""), own.returnPath, "max@v.example");
    expect(await own.delivery()).toBeNull();
    expect(await own.received()).toHaveLength(1);
  });
});
