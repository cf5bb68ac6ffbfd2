import { describe, expect, test } from "bun:test";
import { hintForForeignName } from "../../../src/http/judging/foreign-names.ts";

const email = ["to", "body", "bodyHtml", "fromName", "replyTo", "replyToMessageId", "attachments", "metadata"];
const attachment = ["content", "filename", "contentType"];
const threads = ["limit", "offset", "is_read"];
const messages = ["limit", "cursor", "q", "from", "since", "until", "thread_id"];

describe("Another service's name for a field", () => {
  const rows: readonly [what: string, unknown: string, names: readonly string[], hint: string | undefined][] = [
    ["is told ours", "text", email, 'did you mean "body"?'],
    ["is told ours in any spelling", "HTML-Body", email, 'did you mean "bodyHtml"?'],
    ["is told where else it is given", "from", email, expect.stringContaining("the inbox in the path")],
    ["is told ours with its value", "unread", threads, 'did you mean "is_read=false"?'],
    [
      "is told ours in the spelling of the place",
      "conversation_id",
      [...email, "threadId"],
      'did you mean "threadId"?',
    ],
    ["has a meaning of its own in another place", "type", attachment, 'did you mean "contentType"?'],
    ["is told nothing where ours is not", "text", threads, undefined],
    ["is told nothing about a sender where there is none", "sender", threads, undefined],
    ["may stand for the start of a span", "after", messages, 'did you mean "since"?'],
    ["is nothing if nobody has it", "colour", email, undefined],
    ["is nothing if it is on every object", "constructor", email, undefined],
    ["is nothing if it is endless", "text".padEnd(1_000_000, "_"), email, undefined],
  ];
  test.each(rows)("%s", (_, unknown, names, hint) => {
    expect(hintForForeignName(unknown, names)).toEqual(hint as string);
  });
});
