import { describe, expect, test } from "bun:test";
import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { fullStatusOf, statusOf } from "../../../src/commands/read/status.ts";

type Recipient = Schemas["Recipient"];

const failure = { code: 550, enhancedCode: "5.1.1", message: "No such user", reason: "refused", type: "hard" } as const;
const report = (state: "delivered" | "delayed" | "bounced" | "complained", diagnostic: string | null = null) =>
  ({ delivery: { state, code: null, enhancedCode: null, diagnostic } }) as Pick<Recipient, "delivery">;

function copy(status: Recipient["status"], more: Partial<Recipient> = {}): Recipient {
  const named = { address: "jane@example.com", name: null, type: "to", providerMessageId: null } as const;
  return { ...named, status, failure: null, delivery: null, ...more };
}

/** A message, with the worst report about its copies, as the API has it. */
function message(status: string, recipients: Recipient[], more: Partial<Pick<Recipient, "failure" | "delivery">> = {}) {
  return { status, failure: null, delivery: null, recipients, ...more };
}

describe("the status of a message", () => {
  const bounced = copy("sent", report("bounced", "smtp; 550 5.1.1 User unknown"));
  const rows: [what: string, shown: ReturnType<typeof message>, short: string, full: string][] = [
    ["came in", message("received", []), "received", "received"],
    ["waits", message("pending", [copy("pending")]), "pending", "pending"],
    ["went out", message("sent", [copy("sent")]), "sent", "sent"],
    ["is there", message("sent", [copy("sent", report("delivered"))], report("delivered")), "delivered", "delivered"],
    [
      "bounced",
      message("sent", [bounced], { delivery: bounced.delivery }),
      "bounced",
      "bounced: 550 5.1.1 User unknown",
    ],
    [
      "failed",
      message("failed", [copy("failed", { failure })], { failure }),
      "failed",
      "failed: 550 5.1.1 No such user",
    ],
    [
      "failed for one of two, which the message itself does not say",
      message("sent", [copy("sent"), copy("failed", { failure })]),
      "failed 1 of 2",
      "failed 1 of 2: 550 5.1.1 No such user",
    ],
    [
      "bounced for one, and failed for another",
      message("sent", [copy("failed", { failure }), bounced, copy("sent")], { delivery: bounced.delivery }),
      "bounced 1 of 3",
      "bounced 1 of 3: 550 5.1.1 User unknown",
    ],
    ["waits for one", message("sent", [copy("sent"), copy("pending")]), "pending 1 of 2", "pending 1 of 2"],
    [
      "has a report that names no recipient",
      message("sent", [copy("sent"), copy("sent")], report("complained", "feedback-type: abuse")),
      "complained",
      "complained: feedback-type: abuse",
    ],
  ];
  test.each(rows)("%s", (_, shown, short, full) => {
    expect([statusOf(shown), fullStatusOf(shown)]).toEqual([short, full]);
  });
});
