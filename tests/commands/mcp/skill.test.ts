import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { blocksOf } from "../../support/documentation.ts";
import { inboxdHere } from "../../support/inboxd.ts";
import { startWorld, type World } from "../../support/world.ts";

const skill = await Bun.file(join(import.meta.dir, "../../../docs/skill/SKILL.md")).text();
const commands = blocksOf(skill).map(({ text }) => text);

let world: World;
const directory = mkdtempSync(join(tmpdir(), "ibx-skill-"));
beforeAll(async () => {
  world = await startWorld();
  mkdirSync(join(directory, "bin"));
  const quoted = inboxdHere.map((word) => `'${word}'`).join(" ");
  writeFileSync(join(directory, "bin/inboxd"), `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

test("the skill has a name and a description, and at most 150 lines", () => {
  expect(skill).toMatch(/^---\nname: [a-z-]{1,64}\ndescription: .{20,1024}\n---\n\n# /);
  expect(skill.split("\n").length).toBeLessThanOrEqual(150);
});

test.skipIf(Bun.which("curl") === null)(
  "its commands work, one after the other",
  async () => {
    const shell = Bun.spawn(["bash"], {
      cwd: directory,
      env: {
        HOME: directory,
        PATH: `${join(directory, "bin")}:${process.env.PATH}`,
        INBOXD_URL: world.service.apiUrl.origin,
        INBOXD_API_KEY: world.apiKey,
      },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    const faults = new Response(shell.stderr).text();
    const reader = shell.stdout.getReader();
    let said = "";
    /** What a block prints, and the exit code of its last command. */
    async function paste(block: string): Promise<{ printed: string; code: number }> {
      shell.stdin.write(`${block}\necho "ended $?"\n`);
      await shell.stdin.flush();
      for (;;) {
        const [, printed = "", code] = /^([\s\S]*?)ended (\d+)\n/.exec(said) ?? [];
        if (code !== undefined) {
          said = said.slice(printed.length + `ended ${code}\n`.length);
          return { printed, code: Number(code) };
        }
        const { value, done } = await reader.read();
        if (done) throw new Error(`The shell ended: ${await faults}`);
        said += new TextDecoder().decode(value);
      }
    }
    const mail = (id: string, subject: string, text: string, to = "helper") =>
      world.deliver(
        `From: Jane <jane@example.com>\r\nSubject: ${subject}\r\nMessage-ID: <${id}@example.com>\r\n\r\n${text}\r\n`,
        `${to}@inbox.localhost`,
      );

    const [address, place, wait, read, reply, mark, send, find, ...withCurl] = commands;
    expect(commands).toHaveLength(13);
    expect(await paste(address ?? "")).toMatchObject({
      code: 0,
      printed: expect.stringContaining("helper@inbox.localhost"),
    });
    expect(await paste(`${place}test -n "$CURSOR"`)).toEqual({ printed: "", code: 0 });
    await mail("one", "Sign in", "Your code is 482913");
    expect(await paste(wait ?? "")).toEqual({ printed: "482913\n", code: 0 });
    await mail("two", "A question", "What is the invoice about?");
    const shown = await paste(read ?? "");
    expect([shown.code, shown.printed]).toEqual([0, expect.stringContaining("What is the invoice about?")]);
    expect((await paste(reply ?? "")).code).toBe(0);
    expect(await paste(mark ?? "")).toMatchObject({ code: 0, printed: expect.stringMatching(/^isRead +true$/m) });
    expect((await paste(send ?? "")).code).toBe(0);
    expect(await paste(find ?? "")).toMatchObject({ code: 0, printed: expect.stringContaining("A question") });

    const [create, cursor, waiting, unread, answer] = withCurl;
    expect(await paste(`${create}test -n "$INBOX"`)).toEqual({ printed: "", code: 0 });
    expect(await paste(`${cursor}test -n "$CURSOR"`)).toEqual({ printed: "", code: 0 });
    await mail("three", "Sign in", "Your code is 715204", "assistant");
    expect(JSON.parse((await paste(waiting ?? "")).printed)).toMatchObject({
      message: { codes: [{ code: "715204" }] },
    });
    expect(await paste(`${unread}test -n "$LAST"`)).toEqual({ printed: "", code: 0 });
    const [replied, marked] = (await paste(answer?.replace("\napi", "\necho; api") ?? "")).printed.split("\n");
    expect(JSON.parse(replied ?? "")).toMatchObject({ status: "sent", threadId: expect.any(String) });
    expect(JSON.parse(marked ?? "")).toMatchObject({ ok: true, isRead: true });
    shell.stdin.end();
    expect([await shell.exited, await faults]).toEqual([0, expect.any(String)]);
  },
  60_000,
);
