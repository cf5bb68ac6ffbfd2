/** The peer of bench/start.ts: the least that a compiled Bun server is, and the least that a command is. */
if (process.argv[2] === "version") process.exit(0);
const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });
process.stdout.write(`${server.port}\n`);
