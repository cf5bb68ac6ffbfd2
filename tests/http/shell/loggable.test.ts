import { expect, test } from "bun:test";
import { loggablePath } from "../../../src/http/shell/loggable.ts";

test.each([
  ["/v1/attachments/msg_1/offer.pdf", "/v1/attachments/msg_1/…"],
  ["/u/token", "/u/…"],
  ["/approve/token.signature", "/approve/…"],
  ["/approve/token/more", "/approve/…"],
  ["/v1/drafts/msg_1/approval-link", "/v1/drafts/msg_1/approval-link"],
])("The path %s is logged as %s", (path, logged) => {
  expect(loggablePath(path)).toBe(logged);
});
