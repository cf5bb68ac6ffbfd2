import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { haveSwift, startSwift } from "./swift.ts";
import { untilSo } from "./until.ts";

const program = join(import.meta.dir, "../object-store/node_modules/s3rver/lib/s3rver.js");

/** Whether s3rver is installed; in CI it is an error if it is not. */
export function haveObjectStore(): boolean {
  const isThere = existsSync(program);
  if (!isThere && process.env.CI)
    throw new Error("Cannot find s3rver: bun install --frozen-lockfile --cwd tests/object-store installs it");
  return isThere;
}

/** The servers that speak S3 on this machine. */
export function objectServersHere(): ObjectServer[] {
  return [...(haveObjectStore() ? (["s3rver"] as const) : []), ...(haveSwift ? (["swift"] as const) : [])];
}

export type ObjectServer = "s3rver" | "swift";

/** A server of objects with a bucket called mail. */
interface Server extends AsyncDisposable {
  port: number;
  accessKey: string;
  secretKey: string;
}

/** A request on its way to the store. */
export interface ObjectRequest {
  method: string;
  /** The name of the object, without bucket and prefix. */
  name: string;
}

/** What is done with a request: `pass` sends it on, and returns the answer. */
export type Treatment = (request: ObjectRequest, pass: () => Promise<Response>) => Promise<Response> | Response;

/** An S3-compatible store, behind a proxy that treats requests as a test says. */
export interface ObjectStore extends AsyncDisposable {
  /** The settings of a service that uses it. */
  env: Record<string, string>;
  treat(treatment: Treatment): void;
  /** All requests, as `GET name`. */
  requests: string[];
  /** The names of all objects, at most 1,000. */
  names(): Promise<string[]>;
}

export const passing: Treatment = (_, pass) => pass();
export const away: Treatment = () => new Response("away", { status: 503 });

export async function startObjectStore(kind: ObjectServer = "s3rver"): Promise<ObjectStore> {
  const server = kind === "swift" ? await startSwift() : await startS3rver();
  const { port, accessKey, secretKey } = server;
  const direct = new Bun.S3Client({
    endpoint: `http://127.0.0.1:${port}`,
    accessKeyId: accessKey,
    secretAccessKey: secretKey,
    region: "us-east-1",
    bucket: "mail",
  });
  const requests: string[] = [];
  let treatment = passing;
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const body = request.method === "PUT" ? await request.bytes() : null;
      const name = pathname.replace("/mail/raw/", "");
      requests.push(`${request.method} ${name}`);
      const pass = async () => {
        const answer = await fetch(`http://127.0.0.1:${port}${pathname}${search}`, {
          method: request.method,
          // The signature covers the name of the host to which the client sent it.
          headers: request.headers,
          body,
        });
        // s3rver may answer before its file has all bytes. Another request may have deleted it meanwhile.
        const sizeNow = () => direct.size(`raw/${name}`).catch(() => body?.length);
        if (body !== null && answer.ok) await untilSo(async () => (await sizeNow()) === body.length);
        return new Response(request.method === "HEAD" ? null : await answer.arrayBuffer(), answer);
      };
      return treatment({ method: request.method, name }, pass);
    },
  });
  return {
    env: {
      BLOBS: `s3://mail/raw?endpoint=${encodeURIComponent(`http://127.0.0.1:${proxy.port}`)}`,
      BLOBS_ACCESS_KEY: accessKey,
      BLOBS_SECRET_KEY: secretKey,
    },
    requests,
    treat(next) {
      treatment = next;
    },
    async names() {
      const { contents = [] } = await direct.list({ prefix: "raw/" });
      return contents.map(({ key }) => key.slice("raw/".length));
    },
    async [Symbol.asyncDispose]() {
      await proxy.stop(true);
      await server[Symbol.asyncDispose]();
    },
  };
}

async function startS3rver(): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), "ibx-objects-"));
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "s3rver-process.ts"), program, directory], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value } = await child.stdout.getReader().read();
  return {
    port: Number(new TextDecoder().decode(value)),
    accessKey: "S3RVER",
    secretKey: "S3RVER",
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
