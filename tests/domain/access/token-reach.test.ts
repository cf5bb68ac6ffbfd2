import { expect, test } from "bun:test";
import { readByToken } from "../../../src/domain/access/token-reach.ts";

const cases = [
  ["GET", "/v1/inboxes", "all"],
  ["HEAD", "/v1/events", "all"],
  ["GET", "/v1/events/stream", "all"],
  ["GET", "/v1/ws", "all"],
  ["GET", "/v1/account", "all"],
  ["GET", "/v1/usage", "all"],
  ["GET", "/v1/stats", "forbidden"],
  ["GET", "/v1/messages", "all"],
  ["POST", "/v1/messages", "forbidden"],
  ["GET", "/v1/inboxes/inb_1", { resource: "inbox", id: "inb_1" }],
  ["GET", "/v1/inboxes/inb_1/messages", { resource: "inbox", id: "inb_1" }],
  ["GET", "/v1/inboxes/inb_1/wait", { resource: "inbox", id: "inb_1" }],
  ["GET", "/v1/threads/thr_1/messages", { resource: "thread", id: "thr_1" }],
  ["GET", "/v1/messages/msg_1/raw", { resource: "message", id: "msg_1" }],
  ["GET", "/v1/events/evt_1", { resource: "event", id: "evt_1" }],
  ["GET", "/v1/events/evt_1/deliveries", "forbidden"],
  ["GET", "/v1/attachments/msg_1/a.txt", { resource: "attachment", id: "msg_1" }],
  ["POST", "/v1/inboxes", "forbidden"],
  ["DELETE", "/v1/inboxes/inb_1", "forbidden"],
  ["POST", "/v1/tokens", "forbidden"],
  ["GET", "/v1/tokens", "forbidden"],
  ["GET", "/v1/keys", "forbidden"],
  ["GET", "/v1/keys/key_1", "forbidden"],
  ["GET", "/v1/webhook", "forbidden"],
  ["GET", "/v1/webhooks", "forbidden"],
  ["GET", "/v1/webhooks/whk_1/deliveries", "forbidden"],
  ["GET", "/v1/what/nobody/thought/of", "forbidden"],
  ["GET", "/v1", "forbidden"],
  ["GET", "/v2/inboxes", "forbidden"],
] as const;

for (const [method, path, asked] of cases) {
  const answer = typeof asked === "string" ? asked : `named: one ${asked.resource}`;
  test(`What a token asks for by ${method} ${path} is ${answer}`, () => {
    expect(readByToken(method, path)).toEqual(asked);
  });
}
