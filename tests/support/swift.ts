import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { untilSo } from "./until.ts";

const servers = ["account", "container", "object", "proxy"] as const;

/** Whether OpenStack Swift is installed, whose proxy speaks S3 (Debian: swift-proxy, swift-account, swift-container, swift-object). */
export const haveSwift = servers.every((name) => existsSync(`/usr/bin/swift-${name}-server`));

export interface Swift extends AsyncDisposable {
  port: number;
  accessKey: string;
  secretKey: string;
}

/** Starts a Swift with one replica on one directory, and makes a bucket called mail. */
export async function startSwift(): Promise<Swift> {
  const directory = mkdtempSync(join(tmpdir(), "ibx-swift-"));
  mkdirSync(join(directory, "node/d1"), { recursive: true });
  const ports = await Promise.all(servers.map(freePort));
  const portOf = (name: (typeof servers)[number]) => ports[servers.indexOf(name)] ?? 0;
  for (const name of ["account", "container", "object"] as const) {
    const ring = join(directory, `${name}.builder`);
    // 16 partitions, one replica.
    run(["swift-ring-builder", ring, "create", "4", "1", "1"]);
    run(["swift-ring-builder", ring, "add", `r1z1-127.0.0.1:${portOf(name)}/d1`, "1"]);
    run(["swift-ring-builder", ring, "rebalance"]);
    const main = `${common(directory, portOf(name))}\ndevices = ${directory}/node\nmount_check = false`;
    const app = `[app:${name}-server]\nuse = egg:swift#${name}\n[filter:recon]\nuse = egg:swift#recon\nrecon_cache_path = ${directory}`;
    writeFileSync(join(directory, `${name}.conf`), `${main}\n[pipeline:main]\npipeline = ${name}-server\n${app}\n`);
  }
  writeFileSync(
    join(directory, "proxy.conf"),
    `${common(directory, portOf("proxy"))}
[pipeline:main]
pipeline = catch_errors cache s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
# Otherwise servers that start later than the proxy are left out for a minute.
error_suppression_limit = 1000000
allow_account_management = true
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
`,
  );
  const children = servers.map((name) =>
    Bun.spawn([`/usr/bin/swift-${name}-server`, join(directory, `${name}.conf`)], {
      stdin: "ignore",
      stdout: Bun.file(join(directory, `${name}.log`)),
      stderr: Bun.file(join(directory, `${name}.log`)),
    }),
  );
  const swift: Swift = {
    port: portOf("proxy"),
    accessKey: "test:tester",
    secretKey: "testing",
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill("SIGTERM");
      await Promise.all(children.map(({ exited }) => exited));
      rmSync(directory, { recursive: true, force: true });
    },
  };
  // In this style the path has no bucket, so the name of the object is that of a bucket.
  const client = new Bun.S3Client({
    endpoint: `http://127.0.0.1:${swift.port}`,
    accessKeyId: encodeURIComponent(swift.accessKey),
    secretAccessKey: swift.secretKey,
    region: "us-east-1",
    bucket: "none",
    virtualHostedStyle: true,
  });
  // The servers take some seconds to start.
  await untilSo(async () => {
    if (children.some(({ exitCode }) => exitCode !== null)) throw new Error(`Swift ended: see ${directory}`);
    for (const name of ["mail", "mail/first"]) {
      const answer = await fetch(client.presign(name, { method: "PUT" }), { method: "PUT" }).catch(() => undefined);
      // 409: an earlier turn has made the bucket.
      if (!answer?.ok && answer?.status !== 409) return false;
    }
    return true;
  }).catch(async (error) => {
    await swift[Symbol.asyncDispose]();
    throw error;
  });
  return swift;
}

function common(directory: string, port: number): string {
  const settings = {
    bind_ip: "127.0.0.1",
    bind_port: port,
    // All in one process.
    workers: 0,
    user: userInfo().username,
    swift_dir: directory,
    // There is no log of the system.
    log_address: `${directory}/none`,
  };
  return `[DEFAULT]\n${Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}`)
    .join("\n")}`;
}

function run(command: readonly string[]): void {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command]);
  if (exitCode !== 0) throw new Error(`Cannot run ${command.join(" ")}: ${stdout}${stderr}`);
}

function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { port: number };
    server.close(() => resolve(port));
  });
  return promise;
}
