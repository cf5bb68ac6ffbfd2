import { describe, expect, test } from "bun:test";
import { createPrivateKey } from "node:crypto";
import { snsProof } from "../../../src/flows/receive/sns-proof.ts";
import type { SnsMessage } from "../../../src/standards/sns.ts";
import { webhookClient } from "../../../src/webhook/client.ts";
import { failureOf } from "../../support/failure.ts";
import { answer, startReceiver } from "../../support/receiver.ts";
import {
  certificatePem,
  certificateUrl,
  notification,
  signedBySns,
  subscription,
  topic,
} from "../../support/relay-notices/signing.ts";
import { hooksKey } from "../../support/test-authority.ts";

const now = () => new Date("2026-03-21T10:05:00.000Z");

/** With what was asked for, and where. */
function proof(fetchFromSns: (url: string) => Promise<string | undefined> = async () => certificatePem) {
  const fetched: string[] = [];
  const prove = snsProof(
    {
      now,
      fetchFromSns: (url) => {
        fetched.push(url);
        return fetchFromSns(url);
      },
    },
    [topic],
  );
  return { fetched, prove: (message: Omit<SnsMessage, "Signature">) => prove(JSON.parse(signedBySns(message).body)) };
}

const told = notification('{"a":1}');

describe("a message of SNS", () => {
  test.each(["1", "2"] as const)(
    "of signature version %s is what was published, and its certificate is fetched once",
    async (version) => {
      const { prove, fetched } = proof();
      for (const Message of ["one", "two"]) {
        expect(await prove({ ...told, Message, Subject: "Amazon SES", SignatureVersion: version })).toBe(Message);
      }
      expect(fetched).toEqual([certificateUrl]);
    },
  );

  test("is refused with anything changed that is signed", async () => {
    const message = JSON.parse(signedBySns(told).body);
    const prove = snsProof({ now, fetchFromSns: async () => certificatePem }, [topic]);
    for (const field of ["Message", "MessageId", "Timestamp"]) {
      expect(await failureOf(prove({ ...message, [field]: `${message[field]}x` }))).toMatchObject({
        reason: "unauthorized",
      });
    }
    expect(await failureOf(prove({ ...message, Subject: "x" }))).toMatchObject({ reason: "unauthorized" });
    expect(await failureOf(prove({ ...message, SignatureVersion: "2" }))).toMatchObject({ reason: "unauthorized" });
  });

  test("is refused when a key signed it that is not the certificate's", async () => {
    const body = JSON.parse(signedBySns(told, createPrivateKey(hooksKey)).body);
    expect(await failureOf(snsProof({ now, fetchFromSns: async () => certificatePem }, [topic])(body))).toMatchObject({
      reason: "unauthorized",
    });
  });

  test.each([
    "https://sns.evil.com/a.pem",
    "https://sns.us-east-1.amazonaws.com.evil.com/a.pem",
    "https://sns.us-east-1.amazonaws.com:444/a.pem",
    "https://user@sns.us-east-1.amazonaws.com/a.pem",
    "https://sns.us-east-1.amazonaws.com@evil.com/a.pem",
    "http://sns.us-east-1.amazonaws.com/a.pem",
    "https://sns.us-east-2.amazonaws.com/a.pem",
    "https://sns.us-east-1.amazonaws.com\\@evil.com/a.pem",
    "https://evil.com/https://sns.us-east-1.amazonaws.com/a.pem",
    "HTTPS://SNS.US-EAST-1.AMAZONAWS.COM.evil.com/",
    "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=a&Token=b.pem",
    "",
  ])("with a certificate at %p is refused, and nothing is connected to", async (SigningCertURL) => {
    const { prove, fetched } = proof();
    expect(await failureOf(prove({ ...told, SigningCertURL }))).toMatchObject({ reason: "unauthorized" });
    expect(fetched).toEqual([]);
  });

  test("of a topic that is not ours is refused, and nothing is connected to", async () => {
    const { prove, fetched } = proof();
    expect(await failureOf(prove({ ...told, TopicArn: `${topic}2` }))).toMatchObject({ reason: "unauthorized" });
    expect(fetched).toEqual([]);
  });

  test("whose certificate can't be had now is asked for again, and then fetched anew", async () => {
    let isThere = false;
    const { prove, fetched } = proof(async () => (isThere ? certificatePem : undefined));
    expect(await failureOf(prove(told))).toMatchObject({
      reason: "service_unavailable",
      details: { retryAfterSeconds: 60 },
    });
    isThere = true;
    expect(await prove(told)).toBe(told.Message);
    expect(fetched).toHaveLength(2);
  });

  test("of a stranger makes us fetch four certificates at a time at most, and pushes out none that is known", async () => {
    const waiting: (() => void)[] = [];
    const { prove, fetched } = proof((url) =>
      url === certificateUrl
        ? Promise.resolve(certificatePem)
        : new Promise((resolve) => waiting.push(() => resolve(undefined))),
    );
    expect(await prove(told)).toBe(told.Message);
    const named = (number: number) =>
      prove({ ...told, SigningCertURL: certificateUrl.replace(".pem", `${number}.pem`) });
    const answers = Array.from({ length: 30 }, (_, number) => named(number).catch(({ reason }) => reason));
    expect(await Promise.race(answers.slice(4))).toBe("service_unavailable");
    expect(fetched).toHaveLength(5);
    expect(await prove(told)).toBe(told.Message);
    for (const answer of waiting) answer();
    expect(new Set(await Promise.all(answers))).toEqual(new Set(["service_unavailable"]));
    expect(await prove(told)).toBe(told.Message);
    expect(fetched).toHaveLength(5);
  });

  test("that asks whether we want to subscribe is answered at SNS alone", async () => {
    const url = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=a&Token=b";
    const { prove, fetched } = proof();
    expect(await prove(subscription(url))).toBeUndefined();
    expect(fetched).toEqual([certificateUrl, url]);
    const evil = proof();
    expect(await failureOf(evil.prove(subscription("https://evil.example/")))).toMatchObject({
      reason: "unauthorized",
    });
    expect(evil.fetched).toEqual([certificateUrl]);
  });
});

describe("the guarded GET", () => {
  test("asks without a body, keeps as much as was said, and follows nowhere", async () => {
    await using closing = new AsyncDisposableStack();
    const receiver = await startReceiver({
      behaviour: (socket, request) =>
        request.path === "/redirects"
          ? answer(302, { location: "http://169.254.169.254/latest" })(socket, request)
          : answer(200, {}, "x".repeat(10_000))(socket, request),
    });
    closing.defer(() => void receiver.close());
    const asked: string[] = [];
    const client = webhookClient({
      allowPrivate: true,
      version: "1.2.3",
      timeoutMs: 5000,
      permits: (address) => {
        asked.push(address);
        return true;
      },
    });
    closing.defer(() => client.close());
    const get = (path: string) =>
      client.post({ url: `http://127.0.0.1:${receiver.port}${path}`, headers: {}, body: undefined, keptBytes: 8192 });
    expect(await get("/a.pem")).toMatchObject({ kind: "answered", status: 200, body: "x".repeat(8192) });
    expect(await get("/redirects")).toMatchObject({ kind: "answered", status: 302 });
    expect(await receiver.request(1)).toMatchObject({ method: "GET", body: "" });
    expect(new Set(asked)).toEqual(new Set(["127.0.0.1"]));
  });
});
