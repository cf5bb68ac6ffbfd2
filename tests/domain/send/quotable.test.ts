import { describe, expect, test } from "bun:test";
import { lastShared } from "../../../src/domain/send/quotable.ts";
import type { RecipientType } from "../../../src/domain/send/recipients/entries.ts";
import type { MessageParties } from "../../../src/domain/send/send-facts.ts";

const ada = "ada@mail.test";

interface Written extends Partial<MessageParties> {
  says: string;
}

function written(says: string, fromAddr: string, more: Partial<MessageParties> = {}): Written & MessageParties {
  return { says, fromAddr, toAddr: ada, toAddrs: [ada], cc: [], replyTo: null, ...more };
}

const ofJane = written("Jane's", "jane@example.com");
const ofEve = written("Eve's", "eve@example.com");
const toBoth = written("ours", ada, { toAddr: "bob@x.example", cc: ["cy@x.example"], bcc: ["di@x.example"] });

describe("a reply quotes the last message that a reader of it wrote or got", () => {
  const rows: [string, readonly (Written & MessageParties)[], string, string | undefined][] = [
    ["the last, by its writer", [ofJane, ofEve], "to jane@example.com", "Jane's"],
    ["an earlier one", [ofEve, ofJane], "to jane@example.com", "Jane's"],
    ["none where the reader has a part in none", [ofEve, ofJane], "to joe@x.example", undefined],
    ["none in a thread of which all failed", [], "to jane@example.com", undefined],
    ["whatever the case", [ofEve, ofJane], "to Jane@Example.com", "Jane's"],
    ["the last of several readers", [ofEve, ofJane], "to jane@example.com, cc eve@example.com", "Eve's"],
    ["not that of a blind reader", [ofEve, ofJane], "to jane@example.com, bcc eve@example.com", "Jane's"],
    ["not all that we got ourselves", [ofEve, ofJane], "to jane@example.com, cc Ada+x@mail.test", "Jane's"],
    ["the last, to ourselves alone", [ofEve, ofJane], `to ${ada}`, "Eve's"],
    ["ours, that went to it", [toBoth, ofJane], "to bob@x.example", "ours"],
    ["ours, of which it had a copy", [toBoth, ofJane], "to cy@x.example", "ours"],
    ["ours, of which it had a blind copy", [toBoth, ofJane], "to di@x.example", "ours"],
    [
      "one at the address where answers are wanted",
      [{ ...ofEve, replyTo: "list@x.example" }],
      "to list@x.example",
      "Eve's",
    ],
    ["another's, that it got too", [{ ...ofEve, toAddrs: [ada, "jane@example.com"] }], "to jane@example.com", "Eve's"],
    [
      "by an address with a domain in another script",
      [written("Ü", "u@BÜCHER.example")],
      "to u@xn--bcher-kva.example",
      "Ü",
    ],
  ];
  test.each(rows)("%s", (_, messages, to, says) => {
    const recipients = to.split(", ").map((entry) => {
      const [type, address = ""] = entry.split(" ");
      return { type: type as RecipientType, address };
    });
    expect(lastShared(messages, recipients, [ada])?.says).toBe(says);
  });
});
