import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemServers } from "../../src/dns/client.ts";
import { describeNameServer } from "../../src/standards/name-server.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-dns-"));
afterAll(() => rmSync(directory, { recursive: true }));

const files: readonly [what: string, text: string | undefined, servers: string[]][] = [
  ["one server", "nameserver 192.0.2.53\n", ["192.0.2.53"]],
  [
    "comments and other settings",
    "# by hand\nsearch works\n\tnameserver\t2001:db8::53 # ours\n;nameserver 192.0.2.1\noptions edns0\nnameserver 127.0.0.53\r\n",
    ["2001:db8::53", "127.0.0.53"],
  ],
  ["a link-local server", "nameserver fe80::1%eth0", ["fe80::1%eth0"]],
  ["more than three", "1234".replace(/./g, "nameserver 192.0.2.$&\n"), ["192.0.2.1", "192.0.2.2", "192.0.2.3"]],
  ["only malformed lines", "nameserver localhost\nnameserver\nnameserver 1.2.3\n", ["127.0.0.1"]],
  ["an empty file", "", ["127.0.0.1"]],
  ["no file", undefined, ["127.0.0.1"]],
];

test.each(files)("%s", async (what, text, servers) => {
  const path = join(directory, what);
  if (text !== undefined) writeFileSync(path, text);
  expect((await systemServers(path)).map(describeNameServer)).toEqual(servers);
});
