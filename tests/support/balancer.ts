import { connect, createServer, type Socket } from "node:net";

/** A TCP balancer, round robin. The servers behind it see one client: the balancer. */
export interface Balancer {
  port: number;
  /** The number of connections of each target, in order. */
  served: readonly number[];
  close(): Promise<void>;
}

/** Uses `node:net`: its pipes wait for slow readers and pass on a half-close, which Bun's sockets do not. */
export async function startBalancer(targets: readonly number[]): Promise<Balancer> {
  const served = targets.map(() => 0);
  const sockets = new Set<Socket>();
  let turn = 0;

  const server = createServer({ allowHalfOpen: true }, (client) => {
    const index = turn++ % targets.length;
    served[index] = (served[index] ?? 0) + 1;
    const target = connect({ port: targets[index] ?? 0, host: "127.0.0.1", allowHalfOpen: true });
    join(client, target);
    join(target, client);
  });

  function join(from: Socket, to: Socket): void {
    sockets.add(from);
    from.setNoDelay(true);
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => {
      sockets.delete(from);
      to.destroySoon();
    });
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", 511, resolve);
  });
  const at = server.address();
  return {
    port: typeof at === "object" && at !== null ? at.port : 0,
    served,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}
