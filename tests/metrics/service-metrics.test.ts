import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { randomFile, sendForm, upload } from "../support/files.ts";
import { parsedMetrics, readMetrics } from "../support/metrics.ts";
import { rawSmtp } from "../support/raw-smtp.ts";
import { answer, type Receiver, startReceiver } from "../support/receiver.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

const patienceMs = 60_000;

/**
 * One day of a service, small enough to be counted by hand. What is sent to bounce@ is refused for good by the relay, to
 * busy@ for now; the receiver takes the first event, is broken at the second and gone at the third.
 */
describe("After a day of mail, the metrics say what happened:", () => {
  let world: World;
  let receiver: Receiver;
  let relay: ScriptedSmtp;
  let after: Map<string, number>;

  beforeAll(async () => {
    const answers = [200, 500, 410];
    receiver = await startReceiver({
      behaviour: (socket, request) => answer(answers.shift() ?? 200)(socket, request),
    });
    relay = await scriptedSmtp({
      answer: (command) => {
        if (command.startsWith("RCPT TO:<bounce@")) return "550 5.1.1 Nobody";
        return command.startsWith("RCPT TO:<busy@") ? "451 4.3.0 Later" : undefined;
      },
    });
    world = await startWorld({
      env: {
        METRICS_PORT: "0",
        OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`,
        WEBHOOK_URL: receiver.url,
        ALLOW_PRIVATE_WEBHOOKS: "1",
        SENDS_PER_MINUTE: "4",
        SEND_WAIT_MS: "30000",
        SMTP_MAX_BYTES: "2000",
      },
    });
    await aDayOfMail(world);
    world.clock.pass(10_000);
    after = await readMetrics(world);
  }, patienceMs);

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await receiver?.close();
    await relay?.close();
  });

  const counted: readonly [what: string, samples: Record<string, number>][] = [
    [
      "mail from outside and our own, by outcome",
      {
        'inboxd_mails_received_total{way="smtp",outcome="stored"}': 3,
        'inboxd_mails_received_total{way="smtp",outcome="gone"}': 1,
        'inboxd_mails_received_total{way="smtp",outcome="unavailable"}': 0,
        'inboxd_mails_received_total{way="smtp",outcome="error"}': 0,
        'inboxd_mails_received_total{way="internal",outcome="stored"}': 1,
        'inboxd_mails_received_total{way="internal",outcome="gone"}': 0,
        'inboxd_mail_acceptance_seconds_count{way="smtp"}': 4,
        'inboxd_mail_acceptance_seconds_count{way="internal"}': 1,
      },
    ],
    [
      "the SMTP listener's side of it",
      {
        inboxd_smtp_connections_total: 7,
        inboxd_smtp_mails_total: 3,
        inboxd_smtp_mail_bytes_total: 3 * wire(mail("one")).length,
        // One at RCPT, one whose inbox was deleted while its mail came.
        'inboxd_smtp_refusals_total{reason="unknown_recipient"}': 2,
        'inboxd_smtp_refusals_total{reason="other_domain"}': 1,
        'inboxd_smtp_refusals_total{reason="too_big"}': 1,
        'inboxd_smtp_refusals_total{reason="unavailable"}': 0,
        'inboxd_smtp_faults_total{during="accept"}': 0,
        // The certificate was made 10 seconds ago, for 20 years.
        inboxd_certificate_expires_seconds: 20 * 365 * 86_400 - 10,
      },
    ],
    [
      "sends by outcome, and why they were refused",
      {
        'inboxd_sends_total{outcome="accepted",reason=""}': 4,
        'inboxd_sends_total{outcome="replayed",reason=""}': 1,
        'inboxd_sends_total{outcome="refused",reason="rate_limit_exceeded"}': 1,
        'inboxd_sends_total{outcome="refused",reason="idempotency_key_reused"}': 1,
        'inboxd_sends_total{outcome="loop",reason="loop_detected"}': 0,
        'inboxd_sends_total{outcome="unavailable",reason=""}': 0,
        'inboxd_sends_total{outcome="error",reason=""}': 0,
        inboxd_send_acceptance_seconds_count: 7,
      },
    ],
    ["files that came, as uploads and in forms", { inboxd_upload_bytes_total: 1500 + 500 }],
    [
      "attempts to relay by outcome, and how long the network took",
      {
        // To the relay and to ourselves.
        'inboxd_relay_attempts_total{outcome="sent"}': 2,
        'inboxd_relay_attempts_total{outcome="failed"}': 1,
        'inboxd_relay_attempts_total{outcome="put_off"}': 1,
        'inboxd_relay_attempts_total{outcome="dropped"}': 0,
        inboxd_relay_seconds_count: 3,
      },
    ],
    [
      "deliveries by outcome, and what receivers answered",
      {
        'inboxd_webhook_attempts_total{outcome="delivered"}': 1,
        'inboxd_webhook_attempts_total{outcome="put_off"}': 1,
        'inboxd_webhook_attempts_total{outcome="given_up"}': 1,
        'inboxd_webhook_answers_total{answer="2xx"}': 1,
        'inboxd_webhook_answers_total{answer="5xx"}': 1,
        'inboxd_webhook_answers_total{answer="4xx"}': 1,
        'inboxd_webhook_answers_total{answer="no_answer"}': 0,
        inboxd_webhook_seconds_count: 3,
      },
    ],
    [
      "what waits, and for how long",
      {
        'inboxd_outbox_items{kind="relay",state="waiting"}': 1,
        'inboxd_outbox_items{kind="relay",state="ready"}': 0,
        'inboxd_outbox_items{kind="webhook",state="waiting"}': 1,
        'inboxd_outbox_items{kind="webhook",state="running"}': 0,
        'inboxd_outbox_oldest_seconds{kind="relay",state="waiting"}': 10,
        'inboxd_outbox_oldest_seconds{kind="relay",state="ready"}': 0,
        'inboxd_outbox_oldest_seconds{kind="webhook",state="waiting"}': 10,
        'inboxd_drafts{state="draft"}': 0,
        'inboxd_drafts{state="scheduled"}': 0,
        'inboxd_drafts{state="awaiting_approval"}': 0,
        inboxd_dispatch_lag_seconds_count: 0,
        inboxd_database_up: 1,
      },
    ],
    [
      "requests by route and status, a stranger's paths under one name",
      {
        'inboxd_http_requests_total{method="POST",route="/v1/inboxes",status="2xx"}': 2,
        'inboxd_http_requests_total{method="POST",route="/v1/inboxes",status="4xx"}': 1,
        'inboxd_http_requests_total{method="POST",route="/v1/inboxes/:id/send",status="2xx"}': 5,
        'inboxd_http_requests_total{method="POST",route="/v1/inboxes/:id/send",status="4xx"}': 4,
        'inboxd_http_requests_total{method="DELETE",route="/v1/inboxes/:id",status="2xx"}': 1,
        'inboxd_http_requests_total{method="GET",route="other",status="4xx"}': 2,
        'inboxd_http_request_seconds_count{method="POST",route="/v1/inboxes/:id/send"}': 9,
      },
    ],
  ];

  test.each(counted)("%s", (_what, samples) => {
    expect(Object.fromEntries(Object.keys(samples).map((name) => [name, after.get(name)]))).toEqual(samples);
  });

  test("each histogram has its values in its last bucket, and a sum that is a time", () => {
    const counts = [...after.keys()].filter((name) => /_seconds_count/.test(name));
    expect(counts.length).toBeGreaterThan(8);
    for (const name of counts) {
      const labels = name.slice(name.indexOf("_count") + "_count".length).replace(/^\{|\}$/g, "");
      const base = name.slice(0, name.indexOf("_count"));
      const bucket = `${base}_bucket{${labels === "" ? "" : `${labels},`}le="+Inf"}`;
      expect(after.get(bucket)).toBe(after.get(name));
      const sum = after.get(`${base}_sum${labels === "" ? "" : `{${labels}}`}`) ?? Number.NaN;
      expect(sum).toBeGreaterThanOrEqual(0);
      expect(sum).toBeLessThan(patienceMs / 1000);
    }
  });

  test("the guide for operators has each metric, and no other", () => {
    const guide = readFileSync(join(import.meta.dir, "../../docs/operations.md"), "utf8");
    const named = guide.match(/\b(?:inboxd|process)_[a-z_]+[a-z]\b/g) ?? [];
    const served = [...after.keys()].map((name) => name.replace(/\{.*/, ""));
    const base = (name: string) => name.replace(/_(?:bucket|sum|count)$/, "");
    expect([...new Set(named.map(base))].toSorted()).toEqual([...new Set(served.map(base))].toSorted());
  });

  test("the build, and its runtime", () => {
    const info = [...after].find(([name]) => name.startsWith("inboxd_build_info"));
    expect(info).toEqual([
      expect.stringMatching(/^inboxd_build_info\{version="[\d.]+",bun="[\d.]+",engine="(?:embedded|postgres)"\}$/),
      1,
    ]);
    expect(after.get("process_resident_memory_bytes")).toBeGreaterThan(10e6);
    expect(after.get("process_cpu_seconds_total")).toBeGreaterThan(0);
  });
});

async function aDayOfMail(world: World): Promise<void> {
  const { address, id } = await world.inbox("ada");
  await world.api("/v1/inboxes", { method: "POST", body: { username: "ada" } });
  await world.api("/v1/nothing");
  await world.api(`/v1/inboxes/${id}/nothing/at/all?secret=1`);

  const event = (count: number) =>
    untilAnswered(async () => {
      const { body } = await world.api("/v1/events");
      const last = body.data[count - 1];
      const deliveries = last && (await world.api(`/v1/events/${last.event_id}/deliveries`));
      return deliveries?.body.data.length === 1 || undefined;
    });
  await expectReply(world.deliver(mail("one"), address), "250");
  await event(1);
  // The same mail again: no second message, no second event.
  await expectReply(world.deliver(mail("one"), address), "250");
  await expectReply(world.deliver(mail("two"), address), "250");
  await event(2);
  await expectReply(world.deliver(mail("three"), "nobody@inbox.localhost"), "550 5.1.1");
  await expectReply(world.deliver(mail("four"), "jane@example.com"), "550 5.7.1");
  await expectReply(world.deliver(`${mail("five")}${"x".repeat(80)}`.padEnd(3000, "\r\nlong"), address), "552");
  await deliverWhileDeleted(world);

  const send = (to: string, key: string, body = "Hello") =>
    world.api(`/v1/inboxes/${id}/send`, {
      method: "POST",
      headers: { "idempotency-key": key },
      body: { to, subject: "Hi", body },
    });
  expect((await send("jane@example.com", "a")).body.status).toBe("sent");
  expect((await send("jane@example.com", "a")).headers.get("idempotent-replayed")).toBe("true");
  expect((await send("jane@example.com", "a", "Other")).status).toBe(422);
  expect((await upload(world, randomFile(1500))).status).toBe(201);
  const form = { key: "form", message: {}, files: [["attachments", randomFile(500), "a.bin"]] as const };
  expect((await sendForm(world, id, form)).status).toBe(400);
  expect((await send("bounce@example.com", "b")).body.status).toBe("failed");
  expect((await send("busy@example.com", "c")).body.status).toBe("pending");
  // Takes the third event, which finds its receiver gone.
  expect((await send(address, "d")).body.status).toBe("sent");
  await event(3);
  expect((await send("jane@example.com", "e")).status).toBe(429);
  expect((await world.api(`/v1/inboxes/${id}/send`, { method: "POST", body: {} })).status).toBe(400);
}

/** Its inbox goes between RCPT and the final dot. */
async function deliverWhileDeleted(world: World): Promise<void> {
  const gone = await world.inbox("gone");
  const client = await rawSmtp(world.smtpPort);
  await client.reply();
  for (const command of ["EHLO client.example", "MAIL FROM:<a@b.example>", `RCPT TO:<${gone.address}>`, "DATA"]) {
    await client.ask(command);
  }
  await world.api(`/v1/inboxes/${gone.id}`, { method: "DELETE" });
  client.send(`${mail("late")}.\r\n`);
  expect(await client.reply()).toStartWith("550 5.1.1");
  client.destroy();
}

async function expectReply(reply: Promise<string>, start: string): Promise<void> {
  expect((await reply).slice(0, start.length)).toBe(start);
}

function mail(name: string): string {
  return `From: Jane <jane@example.com>\r\nTo: ada\r\nMessage-ID: <${name.padEnd(5, "x")}@example.com>\r\nSubject: Hi\r\n\r\nHello\r\n`;
}

function wire(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

describe("Without permission a reader gets no metrics:", () => {
  const token = "a-token-of-twenty-characters-or-more";

  test("without METRICS_PORT and METRICS_TOKEN there are none", async () => {
    await using world = await startWorld();
    expect(world.service.metricsUrl).toBeUndefined();
    expect((await world.api("/metrics")).status).toBe(404);
  }, 60_000);

  test("with METRICS_TOKEN alone they are on the API's port, for its bearer", async () => {
    await using world = await startWorld({ env: { METRICS_TOKEN: token } });
    expect(world.service.metricsUrl?.href).toBe(new URL("/metrics", world.service.apiUrl).href);
    for (const apiKey of [null, world.apiKey, `${token}x`]) {
      const { status, headers, body } = await world.api("/metrics", { apiKey });
      expect({ status, authenticate: headers.get("www-authenticate"), code: body.code }).toEqual({
        status: 401,
        authenticate: "Bearer",
        code: "unauthorized",
      });
    }
    const response = await world.fetch("/metrics", { apiKey: token });
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const samples = parsedMetrics(await response.text());
    expect(samples.get('inboxd_http_requests_total{method="GET",route="/metrics",status="4xx"}')).toBe(3);
    // The operator's business is none of the API's document.
    expect(Object.keys((await world.api("/openapi.json")).body.paths)).not.toContain("/metrics");
  }, 60_000);

  test("with both they are on their own port alone, for the bearer alone", async () => {
    await using world = await startWorld({ env: { METRICS_TOKEN: token, METRICS_PORT: "0" } });
    const url = world.service.metricsUrl ?? new URL("http://nowhere");
    expect(url.port).not.toBe(world.service.apiUrl.port);
    expect((await world.fetch("/metrics", { apiKey: token })).status).toBe(404);
    expect((await fetch(url)).status).toBe(401);
    expect((await fetch(new URL("/", url))).status).toBe(404);
    expect((await fetch(url, { method: "POST" })).headers.get("allow")).toBe("GET, HEAD");
    const answered = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    expect(parsedMetrics(await answered.text()).get("inboxd_database_up")).toBe(1);
  }, 60_000);
});
