import { describe, expect, test } from "bun:test";
import {
  type SnsMessage,
  snsAddress,
  snsCertificateAddress,
  snsMessage,
  snsSignedText,
} from "../../src/standards/sns.ts";

const topic = "arn:aws:sns:us-east-2:123456789012:s4-MySNSTopic-1G1WEFCOXTC0P";
const signed = {
  Timestamp: "2019-01-31T04:37:04.321Z",
  TopicArn: topic,
  Signature: "EXAMPLE",
  SignatureVersion: "1",
  SigningCertURL: "https://sns.us-east-2.amazonaws.com/SimpleNotificationService-1.pem",
} as const;
const notification: SnsMessage = {
  ...signed,
  Type: "Notification",
  MessageId: "4d4dc071-ddbf-465d-bba8-08f81c89da64",
  Subject: "My subject",
  Message: "My Test Message",
};

describe("the text that SNS signs, as its documentation writes it", () => {
  test("of a notification", () => {
    expect(snsSignedText(notification)).toBe(
      `Message\nMy Test Message\nMessageId\n4d4dc071-ddbf-465d-bba8-08f81c89da64\nSubject\nMy subject\nTimestamp\n2019-01-31T04:37:04.321Z\nTopicArn\n${topic}\nType\nNotification\n`,
    );
  });

  test("of a notification without a subject", () => {
    const { Subject: _, ...rest } = notification;
    expect(snsSignedText(rest)).toBe(
      `Message\nMy Test Message\nMessageId\n4d4dc071-ddbf-465d-bba8-08f81c89da64\nTimestamp\n2019-01-31T04:37:04.321Z\nTopicArn\n${topic}\nType\nNotification\n`,
    );
  });

  test("of a request to subscribe", () => {
    const asked: SnsMessage = {
      ...signed,
      Type: "SubscriptionConfirmation",
      MessageId: "3d891288-136d-417f-bc05-901c108273ee",
      Message: "You have chosen to subscribe",
      SubscribeURL: "https://sns.example/?a=b",
      Token: "233",
    };
    expect(snsSignedText(asked)).toBe(
      `Message\nYou have chosen to subscribe\nMessageId\n3d891288-136d-417f-bc05-901c108273ee\nSubscribeURL\nhttps://sns.example/?a=b\nTimestamp\n2019-01-31T04:37:04.321Z\nToken\n233\nTopicArn\n${topic}\nType\nSubscriptionConfirmation\n`,
    );
  });
});

describe("no message of SNS", () => {
  const rows: unknown[] = [
    null,
    1,
    "",
    [],
    [notification],
    {},
    { ...notification, Type: "constructor" },
    { ...notification, SignatureVersion: "3" },
    { ...notification, Message: 1 },
    { ...notification, Subject: {} },
    { ...notification, Signature: undefined },
  ];
  test.each(rows.map((row) => [JSON.stringify(row), row] as const))("%s", (_, value) => {
    expect(snsMessage(value)).toBeUndefined();
  });
  test("while a subject may be null", () => {
    expect(snsMessage({ ...notification, Subject: null })).toBeDefined();
  });
});

describe("addresses of SNS", () => {
  const region = "us-east-1";
  test.each([
    "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-9c6465fa7f48f5cacd23014631ec1136.pem",
    "https://sns.us-east-1.amazonaws.com.cn/a.pem",
  ])("%s may have a certificate", (url) => expect(snsCertificateAddress(url, region)).toBe(url));

  test("an operation is refused, since its response may repeat the request", () => {
    const url = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=a&Token=b";
    expect(snsAddress(url, region)).toBe(url);
    for (const other of [url, `${url}.pem`, "https://sns.us-east-1.amazonaws.com/a/../b.pem"]) {
      expect(snsCertificateAddress(other, region)).toBeUndefined();
    }
  });

  test.each([
    "https://sns.evil.com/a.pem",
    "https://sns.us-east-1.amazonaws.com.evil.com/a.pem",
    "https://sns.us-east-1.amazonaws.com:444/a.pem",
    "https://user@sns.us-east-1.amazonaws.com/a.pem",
    "https://sns.us-east-1.amazonaws.com@evil.com/a.pem",
    "https://sns.us-east-1.amazonaws.com",
    "http://sns.us-east-1.amazonaws.com/a.pem",
    "https://sns.us-east-2.amazonaws.com/a.pem",
    "https://sns.us-east-1.amazonaws.com\\@evil.com/a.pem",
    "https://sns.us-east-1.amazonaws.com/a.pem\r\nhost: evil.com",
    "https://evil.com/https://sns.us-east-1.amazonaws.com/a.pem",
    "",
    undefined,
  ])("%p is none", (url) => {
    expect(snsAddress(url, region)).toBeUndefined();
    expect(snsCertificateAddress(url, region)).toBeUndefined();
  });
});
