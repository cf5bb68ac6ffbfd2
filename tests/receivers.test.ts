import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { webhookHeaders, webhookSigner } from "../src/standards/signature.ts";
import { blocksOf } from "./support/documentation.ts";

const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD4VOGAZ0ExAm=";
const blocks = blocksOf(readFileSync(join(import.meta.dir, "../docs/events.md"), "utf8"));
const textOf = (language: string) => blocks.find((block) => block.language === language)?.text ?? "";

interface Delivery {
  headers: Record<string, string>;
  body: string;
  secret: string;
}

async function delivery(sentAt = new Date()): Promise<Delivery> {
  const body = JSON.stringify({ event: "webhook.test", text: "Grüße 🎈" });
  const headers = await webhookHeaders({ eventId: "evt_1", sentAt, body, signer: await webhookSigner(secret) });
  return { headers, body, secret };
}

/** A program around each function of the page, which reads deliveries and prints which it accepts. */
const languages: [language: string, program: string, run: (file: string) => string[]][] = [
  ["ts", "receiver.ts", (file) => [process.execPath, file]],
  ["python", "receiver.py", (file) => ["python3", file]],
  ["go", "receiver.go", (file) => ["go", "run", file]],
];

const endings: Record<string, string> = {
  ts: `
const deliveries = await Bun.stdin.json();
console.log(JSON.stringify(deliveries.map((each: { headers: Record<string, string>; body: string; secret: string }) =>
  isFromInboxd(new Headers(each.headers), each.body, each.secret))));
`,
  python: `
import json
import sys

titled = lambda headers: {name.title(): value for name, value in headers.items()}
print(json.dumps([is_from_inboxd(titled(each["headers"]), each["body"].encode(), each["secret"]) for each in json.load(sys.stdin)]))
`,
  go: `
func main() {
	var deliveries []struct {
		Headers map[string]string
		Body    string
		Secret  string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&deliveries); err != nil {
		panic(err)
	}
	believed := []bool{}
	for _, each := range deliveries {
		header := http.Header{}
		for name, value := range each.Headers {
			header.Set(name, value)
		}
		believed = append(believed, IsFromInboxd(header, []byte(each.Body), each.Secret))
	}
	json.NewEncoder(os.Stdout).Encode(believed)
}
`,
};

describe.each(languages)("The receiver's page in %s", (language, program, run) => {
  const [command = ""] = run("");
  const isHere = Bun.which(command) !== null;
  if (!isHere) console.log(`Skipped: the receiver's page in ${language}, since this machine has no ${command}`);

  test.skipIf(!isHere)(
    "believes our deliveries and no others",
    async () => {
      const whole = await delivery();
      const cases: [what: string, delivery: Delivery, believed: boolean][] = [
        ["a delivery", whole, true],
        ["one of four minutes ago", await delivery(new Date(Date.now() - 240_000)), true],
        ["one of six minutes ago", await delivery(new Date(Date.now() - 360_000)), false],
        ["one from the future", await delivery(new Date(Date.now() + 360_000)), false],
        ["another body", { ...whole, body: `${whole.body} ` }, false],
        ["another secret", { ...whole, secret: `${secret}x` }, false],
        ["a signature that is none", { ...whole, headers: { ...whole.headers, "x-signature": "zz" } }, false],
        [
          "half a signature",
          { ...whole, headers: { ...whole.headers, "x-signature": (whole.headers["x-signature"] ?? "").slice(2) } },
          false,
        ],
        ["a timestamp that is none", { ...whole, headers: { ...whole.headers, "x-timestamp": "now" } }, false],
        ["no headers", { ...whole, headers: {} }, false],
      ];
      const directory = mkdtempSync(join(tmpdir(), "ibx-receiver-"));
      const file = join(directory, program);
      writeFileSync(file, programIn(language));
      const child = Bun.spawn(run(file), {
        stdin: Buffer.from(JSON.stringify(cases.map(([, each]) => each))),
        stdout: "pipe",
        stderr: "pipe",
      });
      const [said, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      rmSync(directory, { recursive: true });
      if (said === "") throw new Error(faults);
      const believed = JSON.parse(said) as boolean[];
      expect(cases.map(([what], index) => [what, believed[index]])).toEqual(
        cases.map(([what, , wanted]) => [what, wanted]),
      );
    },
    60_000,
  );
});

function programIn(language: string): string {
  const text = textOf(language);
  if (text === "") throw new Error(`The page has nothing in ${language}`);
  if (language !== "go") return text + endings[language];
  const imports = text
    .replace("package receiver", "package main")
    .replace("import (", 'import (\n\t"encoding/json"\n\t"os"');
  return imports + endings.go;
}
