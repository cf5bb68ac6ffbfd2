/** Mail servers to compare with ours, each in a temporary directory on a free port. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasPostfix, startPostfixIn } from "../../tests/support/postfix.ts";
import { reportSkipped } from "./report.ts";

export interface MailPeer extends AsyncDisposable {
  name: string;
  port: number;
  pid: number | undefined;
  /** Resolves once all accepted mail is delivered. */
  settle(): Promise<void>;
}

/** Postfix as its package sets it up, delivering into Maildirs; undefined if it is not installed. */
export async function startPostfix(): Promise<MailPeer | undefined> {
  if (!hasPostfix) {
    reportSkipped("Postfix", "it is not installed here or this is not root");
    return undefined;
  }
  const directory = temporary();
  const port = await freePort();
  const mails = join(directory, "maildirs");
  mkdirSync(mails);
  const own = await idsOf("nobody");
  await Bun.$`chown ${own.uid}:${own.gid} ${mails}`.quiet();
  const postfix = await startPostfixIn(directory, {
    port,
    settings: [
      "mail_owner = postfix",
      "inet_interfaces = 127.0.0.1",
      "myhostname = bench.localhost",
      "mynetworks = 127.0.0.0/8",
      "virtual_mailbox_domains = inbox.localhost",
      `virtual_mailbox_base = ${mails}`,
      "virtual_mailbox_maps = static:box/",
      `virtual_uid_maps = static:${own.uid}`,
      `virtual_gid_maps = static:${own.gid}`,
      "virtual_mailbox_limit = 0",
      "message_size_limit = 52428800",
      "smtpd_client_connection_count_limit = 0",
      "smtpd_recipient_restrictions = permit_mynetworks, reject",
    ],
  });
  await untilListening(port);
  const queued = () => Bun.$`find ${directory}/queue/incoming ${directory}/queue/active -type f`.quiet().text();
  return {
    name: "Postfix → Maildir",
    port,
    pid: undefined,
    async settle() {
      while ((await queued()) !== "") await Bun.sleep(100);
    },
    async [Symbol.asyncDispose]() {
      await postfix.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const harakaVersion = "3.3.4";

/** Pinned versions of the packages that Haraka leaves open, so that the peer stays the same. */
const harakaPins = { "encoding-japanese": "2.2.0", libmime: "5.3.7", libqp: "2.1.1" };

/** Haraka with a plugin that writes and flushes a file for each mail; undefined if npm cannot fetch it. */
export async function startHaraka(): Promise<MailPeer | undefined> {
  const directory = temporary();
  const port = await freePort();
  writeFileSync(join(directory, "package.json"), JSON.stringify({ overrides: harakaPins }));
  const installed = await Bun.$`npm install --no-audit --no-fund --omit=optional Haraka@${harakaVersion}`
    .cwd(directory)
    .quiet()
    .nothrow();
  const program = join(directory, "node_modules/Haraka/bin/haraka");
  if (installed.exitCode !== 0 || !existsSync(program)) {
    reportSkipped("Haraka", `npm could not install Haraka@${harakaVersion}`);
    rmSync(directory, { recursive: true, force: true });
    return undefined;
  }
  const mails = join(directory, "mails");
  const files: Record<string, string> = {
    "config/smtp.ini": `listen=127.0.0.1:${port}\nnodes=0\ndaemonize=false\n`,
    "config/plugins": "store\n",
    "config/loglevel": "ERROR",
    "config/me": "bench.localhost",
    "config/databytes": "52428800",
    "plugins/store.js": storePlugin(mails),
  };
  for (const folder of ["config", "plugins", "mails", "queue"]) mkdirSync(join(directory, folder));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  // With an own configuration it does not read its defaults.
  copyFileSync(join(directory, "node_modules/Haraka/config/connection.ini"), join(directory, "config/connection.ini"));
  const child = Bun.spawn(["node", program, "-c", directory], { stdout: "ignore", stderr: "ignore" });
  await untilListening(port);
  return {
    name: "Haraka, storing",
    port,
    pid: child.pid,
    settle: async () => undefined,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function storePlugin(mails: string): string {
  return `const fs = require("node:fs");
let number = 0;
exports.hook_rcpt = (next) => next(OK);
exports.hook_queue = function (next, connection) {
  const path = ${JSON.stringify(mails)} + "/" + number++;
  connection.transaction.message_stream.get_data((data) => {
    fs.open(path + ".part", "w", (error, file) => {
      if (error) return next(DENYSOFT);
      fs.write(file, data, (error) => {
        if (error) return next(DENYSOFT);
        fs.fsync(file, () => fs.close(file, () => fs.rename(path + ".part", path, () => next(OK))));
      });
    });
  });
};
`;
}

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), "ibx-peer-"));
  chmodSync(directory, 0o755);
  return directory;
}

async function idsOf(account: string): Promise<{ uid: string; gid: string }> {
  const [uid, gid] = await Promise.all([Bun.$`id -u ${account}`.text(), Bun.$`id -g ${account}`.text()]);
  return { uid: uid.trim(), gid: gid.trim() };
}

function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = createServer();
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
  });
  return promise;
}

async function untilListening(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const isOpen = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => undefined } }).then(
      (socket) => {
        socket.end();
        return true;
      },
      () => false,
    );
    if (isOpen) return;
    await Bun.sleep(50);
  }
  throw new Error(`Cannot start a peer: nobody listens at port ${port}`);
}
