import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import {
  attachmentKey,
  attachmentSignature,
  isAttachmentSignature,
  newWebhookSecret,
  signerCache,
  webhookFault,
  webhookHeaders,
  webhookSecretFault,
  webhookSigner,
} from "../../src/standards/signature.ts";
import { failureOf } from "../support/failure.ts";

const secret = "whsec_ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=";
const otherSecret = "whsec_/+7dzLuqmYh3ZlVEMyIRAP/u3cy7qpmId2ZVRDMiEQA=";

describe("a delivery is signed as every receiver expects", () => {
  const vectors = [
    {
      name: "non-ASCII text",
      timestamp: 1774087501,
      id: "evt_01",
      body: '{"event":"message.received","event_id":"evt_01","occurred_at":"2026-03-21T10:05:00.000Z","delivered_at":"2026-03-21T10:05:01.000Z","attempt":1,"inbox_id":"inb_01","external_id":"user-7 ☕","thread_id":"thr_01","message":{"id":"msg_01","rfc_message_id":"<a@b.example>","from":"jane@example.com","to":"bot@example.org","cc":[],"subject":"Hi","body_text":"Line 1\\nLine 2","attachments":[],"received_at":"2026-03-21T10:05:00.000Z"}}',
      x: "4c932b49a026eafc9094290aead03a63d2b3fdbc6f49e5706f84a1a1e68a6b44",
      standard: "v1,Ai9kxz4FzRK74HWydUDO5KkVSSt1QZNdvKw1evG2+cY=",
    },
    {
      name: "an empty object",
      timestamp: 1700000000,
      id: "evt_02",
      body: "{}",
      x: "82f51fea7619dfadb675f87618fe7232545ba3a39e86299093fc43e9516b9712",
      standard: "v1,MQhVcVwdCqfEzMjT6vhOeCDkuUVJnjBT79HfiCE4UQk=",
    },
    {
      name: "escapes and astral characters",
      timestamp: 1790000000,
      id: "evt_03",
      body: '{"event":"message.received","subject":"a\\"b\\\\c\u2028📨","n":null}',
      x: "3f9ee13bf0f702d070038aa4ec3f3e817a80d4b5a8f83e4daf3a903bba8eca9d",
      standard: "v1,mrHpKexHYNIB6PPK7c03LCzqOO3qAqODcW6iqKSYJSg=",
    },
  ];
  test.each(vectors)("$name", async ({ timestamp, id, body, x, standard }) => {
    const signer = await webhookSigner(secret);
    expect(await signer.xSignature(timestamp, body)).toBe(x);
    expect(await signer.standardSignature(id, timestamp, body)).toBe(standard);
    // Fractions of a second are dropped.
    const sentAt = new Date(timestamp * 1000 + 999);
    expect(await webhookHeaders({ eventId: id, sentAt, body, signer })).toEqual({
      "content-type": "application/json",
      "x-timestamp": String(timestamp),
      "x-signature": x,
      "x-event-id": id,
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": standard,
    });
  });

  test("the vector that the Standard Webhooks libraries share", async () => {
    const signer = await webhookSigner("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    expect(await signer.standardSignature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}')).toBe(
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    );
  });

  test("base64 without padding is the same secret to Standard Webhooks, and another text to X-Signature", async () => {
    const [padded, bare] = await Promise.all([webhookSigner(secret), webhookSigner(secret.replace(/=$/, ""))]);
    expect(await bare.standardSignature("a", 1, "b")).toBe(await padded.standardSignature("a", 1, "b"));
    expect(await bare.xSignature(1, "b")).not.toBe(await padded.xSignature(1, "b"));
  });

  test("a secret of another form keys both schemes with its bytes", async () => {
    const signer = await webhookSigner("0123456789abcdef01234567");
    // printf '%s' '17.{}' | openssl dgst -sha256 -hmac 0123456789abcdef01234567, and 'evt_1.17.{}' likewise
    expect(await signer.xSignature(17, "{}")).toBe("392db49c2a7bcd62283322622852a37cb9288fbc8e89fcc3f274db2cd08b8763");
    expect(await signer.standardSignature("evt_1", 17, "{}")).toBe("v1,yfGh1PtIBRh4xTs/TsszPiDdZZ8GHC1nR2GdsbpoPuQ=");
  });
});

describe("while a rotation overlaps", () => {
  const at = new Date("2026-03-21T10:05:01.000Z");

  test("the old and the new secret both verify, X-Signature by the old one", async () => {
    const [signer, replacedSigner] = await Promise.all([webhookSigner(otherSecret), webhookSigner(secret)]);
    const headers = await webhookHeaders({ eventId: "evt_1", sentAt: at, body: "{}", signer, replacedSigner });
    expect(headers["webhook-signature"]).toBe(
      `${await signer.standardSignature("evt_1", 1774087501, "{}")} ${await replacedSigner.standardSignature("evt_1", 1774087501, "{}")}`,
    );
    expect(headers["x-signature"]).toBe(await replacedSigner.xSignature(1774087501, "{}"));
    expect(await webhookFault({ headers, body: "{}", secret, now: at })).toBeUndefined();
    expect(await webhookFault({ headers, body: "{}", secret: otherSecret, now: at })).toBe(
      "X-Signature does not match",
    );
  });

  test("the library of Standard Webhooks accepts both", async () => {
    const sentAt = new Date();
    const [signer, replacedSigner] = await Promise.all([webhookSigner(otherSecret), webhookSigner(secret)]);
    const headers = await webhookHeaders({ eventId: "evt_1", sentAt, body: '{"a":1}', signer, replacedSigner });
    for (const key of [secret, otherSecret]) expect(new Webhook(key).verify('{"a":1}', headers)).toEqual({ a: 1 });
    expect(() => new Webhook("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").verify('{"a":1}', headers)).toThrow();
  });
});

describe("our own receiver refuses", async () => {
  const at = new Date("2026-03-21T10:05:01.000Z");
  const signer = await webhookSigner(secret);
  const headers = await webhookHeaders({ eventId: "evt_1", sentAt: at, body: "{}", signer });
  const standard = headers["webhook-signature"] ?? "";
  const rows: [string, Partial<Parameters<typeof webhookFault>[0]>, string | undefined][] = [
    ["nothing of a true delivery", {}, undefined],
    ["nothing of one that took five minutes", { now: new Date(at.getTime() + 300_000) }, undefined],
    ["one over five minutes old", { now: new Date(at.getTime() + 301_000) }, "a timestamp is too old or too new"],
    ["one from the future", { now: new Date(at.getTime() - 301_000) }, "a timestamp is too old or too new"],
    ["another body", { body: "{ }" }, "X-Signature does not match"],
    ["another secret", { secret: otherSecret }, "X-Signature does not match"],
    ["no signature", { headers: { ...headers, "x-signature": undefined } }, "a signature header is missing"],
    [
      "a timestamp in words",
      { headers: { ...headers, "x-timestamp": "now" } },
      "a timestamp is not a number of seconds",
    ],
    [
      "upper-case hex",
      { headers: { ...headers, "x-signature": headers["x-signature"]?.toUpperCase() } },
      "X-Signature does not match",
    ],
    [
      "hex with junk behind",
      { headers: { ...headers, "x-signature": `${headers["x-signature"]}zz` } },
      "X-Signature does not match",
    ],
    ["another event's id", { headers: { ...headers, "webhook-id": "evt_2" } }, "webhook-signature does not match"],
    [
      "another version's signature",
      { headers: { ...headers, "webhook-signature": standard.replace("v1", "v2") } },
      "webhook-signature does not match",
    ],
    [
      "nothing where one of several matches",
      { headers: { ...headers, "webhook-signature": `v1,xx v1a,y ${standard}` } },
      undefined,
    ],
    ["an empty secret", { secret: "" }, "the secret must be 24 to 512 visible ASCII characters"],
  ];
  test.each(rows)("%s", async (_, change, fault) => {
    expect(await webhookFault({ headers, body: "{}", secret, now: at, ...change })).toBe(fault);
  });
});

describe("a webhook secret", () => {
  test("that we make has 32 random bytes and no fault", () => {
    const made = newWebhookSecret((length) => new Uint8Array(length).fill(0xfb));
    expect(made).toBe(`whsec_${"+/v7".repeat(10)}+/s=`);
    expect(webhookSecretFault(made)).toBeUndefined();
  });

  const rows: [string, string, string | undefined][] = [
    ["of 24 characters", "x".repeat(24), undefined],
    ["of 23 characters", "x".repeat(23), "must have at least 24 characters"],
    ["of 24 bytes in base64", `whsec_${"A".repeat(32)}`, undefined],
    ["of 23 bytes in base64", `whsec_${"A".repeat(31)}`, 'must have at least 24 bytes of base64 behind "whsec_"'],
    ["that promises base64 and has none", `whsec_${"-".repeat(44)}`, 'must have base64 behind "whsec_"'],
    ["that is empty", "", "must be 24 to 512 visible ASCII characters"],
    ["with a space", `${"x".repeat(24)} `, "must be 24 to 512 visible ASCII characters"],
    ["that never ends", "x".repeat(513), "must be 24 to 512 visible ASCII characters"],
  ];
  test.each(rows)("%s", async (_, text, fault) => {
    expect(webhookSecretFault(text)).toBe(fault);
    if (fault !== undefined) expect(String(await failureOf(webhookSigner(text)))).toContain(fault);
  });

  test("is imported once, and forgotten when many others came", async () => {
    const signerOf = signerCache(2);
    const first = signerOf(secret);
    expect(signerOf(secret)).toBe(first);
    await signerOf(otherSecret);
    await signerOf("x".repeat(24));
    expect(signerOf(secret)).not.toBe(first);
    expect(await (await signerOf(secret)).xSignature(1, "")).toBe(await (await first).xSignature(1, ""));
  });
});

describe("the signature of an attachment link", async () => {
  const key = await attachmentKey("a signing key of the operator");
  const link = { messageId: "msg_1", storedName: "Ünï.pdf", expires: 1774087501 };
  const signature = await attachmentSignature(key, link.messageId, link.storedName, link.expires);

  test("is HMAC-SHA-256 in hex over the contract's text, under a key by HKDF", async () => {
    const { createHmac, hkdfSync } = await import("node:crypto");
    const derived = hkdfSync("sha256", "a signing key of the operator", "inboxd", "attachment link 1", 32);
    const text = "attachment\nmsg_1\nÜnï.pdf\n1774087501";
    expect(signature).toBe(createHmac("sha256", new Uint8Array(derived)).update(text).digest("hex"));
    expect(await isAttachmentSignature(key, { ...link, signature })).toBe(true);
  });

  const rows: [string, Partial<typeof link & { signature: string }>][] = [
    ["another message", { messageId: "msg_2" }],
    ["another name", { storedName: "Uni.pdf" }],
    ["a later end", { expires: 1774087502 }],
    ["one digit changed", { signature: signature.replace(/^./, (digit) => (digit === "0" ? "1" : "0")) }],
    ["upper-case digits", { signature: signature.toUpperCase() }],
    ["junk behind it", { signature: `${signature}!` }],
    ["half of it", { signature: signature.slice(0, 32) }],
    ["nothing", { signature: "" }],
  ];
  test.each(rows)("does not hold for %s", async (_, change) => {
    expect(await isAttachmentSignature(key, { ...link, signature, ...change })).toBe(false);
  });

  test("does not hold under another key", async () => {
    const other = await attachmentKey("a signing key of the operator!");
    expect(await isAttachmentSignature(other, { ...link, signature })).toBe(false);
  });
});
