/** The peer of bench/start.ts: the smallest compiled Bun server, and the smallest command. */
if (process.argv[2] === "version") process.exit(0);
const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });
process.stdout.write(`${server.port}\n`);
