import { expect, test } from "bun:test";
import { join } from "node:path";

const program = `
  import pino from "pino";
  import { logUnheardRejections } from ${JSON.stringify(join(import.meta.dir, "../../src/service/unheard-rejections.ts"))};
  logUnheardRejections(pino());
  void Promise.reject(new Error("lost"));
  await new Promise((resolve) => setImmediate(resolve));
  console.log("goes on");
`;

test("A rejection that nobody hears is one line of the log, and the process goes on", async () => {
  const child = Bun.spawn([process.execPath, "-e", program], {
    cwd: join(import.meta.dir, "../.."),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, faults, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const lines = out.trim().split("\n");
  expect({ code, faults }).toEqual({ code: 0, faults: "" });
  expect(lines).toHaveLength(2);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    level: 50,
    msg: "a rejection was not handled",
    error: { message: "lost" },
  });
  expect(lines[1]).toBe("goes on");
});
