import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { verifyWebhook } from "../../sdk/typescript/src/webhook.ts";
import { webhookHeaders, webhookSigner } from "../../src/standards/signature.ts";
import { failureOf } from "../support/failure.ts";

const secret = "whsec_ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=";
const fresh = "whsec_/+7dzLuqmYh3ZlVEMyIRAP/u3cy7qpmId2ZVRDMiEQA=";
const body = '{"event":"message.received","event_id":"evt_1","message":{"subject":"a\\"b\\\\c\u2028📨 ☕"}}';

async function delivery(options: { body?: string; secret?: string; replaced?: string; at?: Date } = {}) {
  const signed = options.body ?? body;
  const headers = await webhookHeaders({
    eventId: "evt_1",
    sentAt: options.at ?? new Date(),
    body: signed,
    signer: await webhookSigner(options.secret ?? secret),
    ...(options.replaced !== undefined && { replacedSigner: await webhookSigner(options.replaced) }),
  });
  return { headers, body: signed };
}

const request = ({ headers, body }: { headers: Record<string, string>; body: string }) =>
  new Request("http://receiver.example/hook", { method: "POST", headers, body });

test("A delivery of ours is believed, however a server has it", async () => {
  const sent = await delivery();
  expect(await verifyWebhook(request(sent), secret)).toEqual(JSON.parse(body));
  expect(await verifyWebhook({ ...sent, body: Buffer.from(body) }, secret)).toEqual(JSON.parse(body));
  const headers = Object.fromEntries(
    Object.entries(sent.headers).map(([name, value]) => [name.toUpperCase(), [value]]),
  );
  expect(await verifyWebhook({ headers, body }, [fresh, secret])).toEqual(JSON.parse(body));
});

test("While one secret replaces another, either is enough", async () => {
  const sent = await delivery({ secret: fresh, replaced: secret });
  for (const known of [secret, fresh, [secret, fresh]]) {
    expect(await verifyWebhook(sent, known)).toEqual(JSON.parse(body));
  }
});

test.each([secret, secret.slice("whsec_".length), "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])(
  "What the library of Standard Webhooks signs and takes, it takes: %s",
  async (key) => {
    const library = new Webhook(key);
    const headers = {
      "webhook-id": "evt_2",
      "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
      "webhook-signature": `v1a,x v1,AAAA ${library.sign("evt_2", new Date(), body)}`,
    };
    expect(library.verify(body, headers)).toEqual(JSON.parse(body));
    expect(await verifyWebhook({ headers, body }, key)).toEqual(JSON.parse(body) as never);
    const changed = `${body} `;
    expect(() => library.verify(changed, headers)).toThrow();
    expect(await failureOf(verifyWebhook({ headers, body: changed }, key))).toMatchObject({
      reason: "wrong_signature",
    });
  },
);

test("a secret that is no base64 signs by its text", async () => {
  const key = "a secret of the operator!";
  const plain = "not-base64-but-long-enough-to-be-one";
  for (const one of [plain, "0123456789abcdef01234567"]) {
    expect(await verifyWebhook(await delivery({ secret: one }), one)).toEqual(JSON.parse(body));
  }
  expect(await failureOf(verifyWebhook(await delivery(), key))).toMatchObject({ reason: "wrong_signature" });
});

test("All else is refused, with a reason", async () => {
  const sent = await delivery();
  const without = (name: string) => ({ ...sent, headers: { ...sent.headers, [name]: "" } });
  const read = request(sent);
  await read.text();
  const at = (ms: number) => delivery({ at: new Date(Date.now() + ms) });
  const rows: [string, Parameters<typeof verifyWebhook>[0], string | string[]][] = [
    ["missing_header", without("webhook-id"), secret],
    ["missing_header", without("webhook-signature"), secret],
    ["invalid_timestamp", { ...sent, headers: { ...sent.headers, "webhook-timestamp": "now" } }, secret],
    ["too_old_or_new", await at(-310_000), secret],
    ["too_old_or_new", await at(310_000), secret],
    ["wrong_signature", { ...sent, headers: { ...sent.headers, "webhook-id": "evt_9" } }, secret],
    ["wrong_signature", { ...sent, body: `${body} ` }, secret],
    ["wrong_signature", sent, fresh],
    ["wrong_signature", sent, []],
    ["invalid_secret", sent, ""],
    ["invalid_secret", sent, "whsec_"],
    ["body_was_read", read, secret],
    ["not_json", await delivery({ body: "no JSON" }), secret],
  ];
  for (const [reason, given, known] of rows) {
    expect(await verifyWebhook(given, known).catch((error) => [error.name, error.reason])).toEqual([
      "WebhookError",
      reason,
    ]);
  }
});

test("A delivery that took just under five minutes is still believed", async () => {
  const sent = await delivery({ at: new Date(Date.now() - 290_000) });
  expect(await verifyWebhook(sent, secret)).toEqual(JSON.parse(body));
});
