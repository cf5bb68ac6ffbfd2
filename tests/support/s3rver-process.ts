import { writeSync } from "node:fs";

/** A process that serves one bucket, called mail, and prints its port. */
const [program = "", directory = ""] = process.argv.slice(2);
const { default: S3rver } = await import(program);
const server = new S3rver({
  address: "127.0.0.1",
  port: 0,
  silent: true,
  directory,
  configureBuckets: [{ name: "mail", configs: [] }],
});
const { port } = await server.run();
writeSync(1, `${port}\n`);
