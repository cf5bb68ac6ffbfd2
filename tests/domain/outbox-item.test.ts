import { expect, test } from "bun:test";
import { isItemId } from "../../src/domain/outbox-item.ts";

const message = "msg_01km7xnw70ejr8hy7ppemk391e";
const event = "evt_01km7xnw70ejr8hy7ppemk397f";
const endpoint = "whk_01km57j4m0eh7awf6pjemv2932";

test.each([message, `${message}.1`, `${message}.49`, event, `${event}.${endpoint}`])(
  "%s can be the id of something in the outbox",
  (id) => expect(isItemId(id)).toBe(true),
);

test.each([
  "",
  ".",
  `${message}.`,
  `${message}.0`,
  `${message}.x`,
  `${message}.1.1`,
  `${message}.${endpoint}`,
  `${event}.1`,
  `${event}.${endpoint}.1`,
  endpoint,
  `${event}\0`,
  null,
])("%p can't be one", (id) => expect(isItemId(id)).toBe(false));
