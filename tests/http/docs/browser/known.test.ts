import { describe, expect, test } from "bun:test";
import { type Known, newKnown } from "../../../../src/http/docs/browser/known.ts";
import { lookUp } from "../../../../src/http/docs/browser/look-up.ts";

const inbox = (name: string) => ({ id: `inb_${name}`, address: `${name}@inbox.localhost` });
const mail = (id: string, direction: string, to = "ada") => ({
  id: `msg_${id}`,
  threadId: `thr_${id}`,
  inboxId: `inb_${to}`,
  direction,
  attachments: [],
  fromAddr: "jane@example.com",
  toAddr: `${to}@inbox.localhost`,
});

const facts = (known: Known) =>
  ["inbox", "address", "thread", "correspondent"].map((name) => known.meant(name) ?? "–").join(" ");

describe("What the page knows of the account", () => {
  const rows: readonly [what: string, answers: unknown[], known: string][] = [
    ["nothing of nothing", [undefined, null, "text", {}, { data: [] }], "– – – –"],
    ["the inbox that was made", [inbox("ada")], "inb_ada ada@inbox.localhost – –"],
    ["the newest of several", [{ data: [inbox("bob"), inbox("ada")] }], "inb_bob bob@inbox.localhost – –"],
    [
      "the inbox in use, whatever is listed",
      [inbox("ada"), { data: [inbox("bob")] }],
      "inb_ada ada@inbox.localhost – –",
    ],
    [
      "the mail that came in, not the one that went out after it",
      [{ data: [mail("2", "outbound"), mail("1", "inbound")] }],
      "inb_ada ada@inbox.localhost thr_1 jane@example.com",
    ],
    [
      "nobody to answer where all went out",
      [inbox("ada"), mail("1", "outbound")],
      "inb_ada ada@inbox.localhost thr_1 –",
    ],
    ["no mail of another inbox", [mail("1", "inbound"), inbox("bob")], "inb_bob bob@inbox.localhost – –"],
  ];
  test.each(rows)("is %s", (_, answers, expected) => {
    const known = newKnown();
    for (const answer of answers) known.learn(answer);
    expect(facts(known)).toBe(expected);
  });

  test("goes when something was not found", () => {
    const known = newKnown();
    known.learn(mail("1", "inbound"));
    known.forget();
    expect(facts(known)).toBe("– – – –");
  });
});

describe("What is missing", () => {
  const asked = (answers: Record<string, unknown>) => {
    const paths: string[] = [];
    const ask = async (path: string) => {
      paths.push(path);
      return { status: 200, body: answers[path] ?? { data: [] } };
    };
    return { paths, ask };
  };

  test("is asked for, and no more than that", async () => {
    const { paths, ask } = asked({ "v1/inboxes?limit=1": { data: [inbox("ada")] } });
    expect(await lookUp(["inbox", "address", "fresh"], newKnown(), ask)).toBeUndefined();
    expect(paths).toEqual(["v1/inboxes?limit=1"]);
  });

  test("is named where the account has none", async () => {
    expect(await lookUp(["inbox", "thread"], newKnown(), asked({}).ask)).toBe("inbox");
    const { ask } = asked({ "v1/inboxes?limit=1": { data: [inbox("ada")] } });
    expect(await lookUp(["inbox", "correspondent"], newKnown(), ask)).toBe("correspondent");
  });

  test("is not asked for where it is known", async () => {
    const { paths, ask } = asked({});
    const known = newKnown();
    known.learn(inbox("ada"));
    expect(await lookUp(["inbox", "address"], known, ask)).toBeUndefined();
    expect(paths).toEqual([]);
  });
});
