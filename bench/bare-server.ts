/** The peer of bench/start.ts: the least that a compiled Bun server is. */
const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });
process.stdout.write(`${server.port}\n`);
