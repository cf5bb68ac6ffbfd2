import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Answer } from "dns-packet";
import type { Authentication } from "../../src/domain/receive/authentication.ts";
import type { QuestionType, ResolvedAnswer } from "../../src/mail/authenticate/questions.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { rawSmtp } from "../support/raw-smtp.ts";
import { type ScriptedDns, scriptedDns, soa } from "../support/scripted-dns.ts";
import { scenarioDns, spfScenarios } from "../support/spf-suite.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

/** The SPF suite through the whole door: a balancer names the client, a name server answers, and the API shows the result. */
for (const engine of enginesHere()) {
  describe(`SPF of a mail (${engine})`, () => {
    let dns: ScriptedDns;
    let world: World;
    let resolve = scenarioDns({});

    beforeAll(async () => {
      dns = await scriptedDns(async ({ name, type }) => {
        const answer = await resolve(name, type as QuestionType, new AbortController().signal);
        return messageOf(name, type, answer);
      });
      world = await startWorld({
        env: {
          DNS_SERVERS: `127.0.0.1:${dns.port}`,
          AUTHENTICATE: "always",
          AUTH_TIMEOUT_MS: "60000",
          TRUSTED_PROXIES: "127.0.0.1",
          SMTP_PROXY_PROTOCOL: "1",
        },
        ...(engine === "embedded" && { database: "embedded" as const }),
      });
    });
    afterAll(async () => {
      await world[Symbol.asyncDispose]();
      await dns.close();
    });

    async function arrived(test: string, { host, helo, mailfrom }: Arrival, { address }: WorldInbox): Promise<string> {
      const client = await rawSmtp(world.smtpPort);
      const family = host.includes(":") ? "TCP6" : "TCP4";
      const own = host.includes(":") ? "2001:db8::1" : "192.0.2.1";
      client.send(`PROXY ${family} ${host} ${own} 40000 25\r\n`);
      await client.reply();
      for (const line of [`EHLO ${helo}`, `MAIL FROM:<${mailfrom ?? ""}>`, `RCPT TO:<${address}>`, "DATA"]) {
        const reply = await client.ask(line);
        if (!/^[23]/.test(reply)) {
          client.destroy();
          return line.slice(0, 4);
        }
      }
      const reply = await client.ask(
        `${mailOf({ from: "jane@nowhere.example", subject: test, messageId: `${test}@nowhere.example` })}.`,
      );
      client.destroy();
      return reply.slice(0, 3);
    }

    test.each(spfScenarios)("$description", async ({ tests, zonedata }) => {
      resolve = scenarioDns(zonedata);
      // Answers about the names of the scenario before are remembered for seconds at least.
      world.clock.pass(3_600_000);
      const inbox = await world.inbox();
      for (const [name, mail] of Object.entries(tests)) {
        expect([name, await arrived(name, mail, inbox)]).toEqual([name, refused[name] ?? "250"]);
      }
      const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages?limit=100`);
      const results = new Map((body.data as Seen[]).map((seen) => [seen.subject, seen.authentication?.spf.result]));
      for (const [name, { result }] of Object.entries(tests)) {
        if (name in refused) continue;
        const wanted = other[name] ?? result;
        expect([name, [wanted].flat()]).toEqual([name, expect.arrayContaining([results.get(name)])]);
      }
    });
  });
}

/** The commands that the SMTP door refuses: a sender without a local part or with a space, and a name with a space. */
const refused: Readonly<Record<string, string>> = {
  nolocalpart: "MAIL",
  "dorky-sentinel": "MAIL",
  "invalid-hello-macro": "EHLO",
};

/** The DNS client asks for no name with a space, so such a name does not exist. */
const other: Readonly<Record<string, string>> = { "macro-mania-in-domain": "fail" };

interface Arrival {
  host: string;
  helo: string;
  mailfrom: string | null;
}

interface Seen {
  subject: string;
  authentication: Authentication | null;
}

/** An answer on the wire. A question without an answer is a failure of the server here, since a client would wait for seconds. */
function messageOf(name: string, type: string, answer: ResolvedAnswer) {
  if (answer.kind === "unknown") return { code: 2 };
  if (answer.kind !== "found") return { code: answer.kind === "no_name" ? 3 : 0, authorities: [soa(0)] };
  return { answers: answer.records.map((record) => answerOf(name, type, record)) };
}

function answerOf(name: string, type: string, record: unknown): Answer {
  const given = type === "MX" ? (record as { priority: number; exchange: string }) : undefined;
  const data = given ? { preference: given.priority, exchange: given.exchange } : record;
  return { name, type, ttl: 0, data: type === "TXT" ? stringsOf(String(record)) : data } as Answer;
}

function stringsOf(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const count = Math.max(1, Math.ceil(bytes.length / 255));
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * 255, (index + 1) * 255));
}
