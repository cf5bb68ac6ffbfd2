import { connect } from "node:net";
/** A world or another service. */
export interface Asked {
  service: { apiUrl: URL };
}

/** A raw POST whose body the test writes piece by piece. */
export function beginRequest({ service }: Asked, path: string, fields: readonly string[]) {
  const socket = connect(Number(service.apiUrl.port), "127.0.0.1");
  const closed = Promise.withResolvers<void>();
  let answered = "";
  let wake = Promise.withResolvers<void>();
  socket.on("data", (bytes) => {
    answered += bytes.toString("latin1");
    wake.resolve();
    wake = Promise.withResolvers();
  });
  // Most of these requests end with a closed connection.
  socket.on("error", () => undefined);
  socket.on("close", () => {
    closed.resolve();
    wake.resolve();
  });
  socket.write(`${[`POST ${path} HTTP/1.1`, "Host: localhost", ...fields].join("\r\n")}\r\n\r\n`);
  return {
    closed: closed.promise,
    send: (bytes: string | Uint8Array) => void socket.write(bytes),
    /** Resolves when all of it was written; throws if not. */
    sent: (bytes: string | Uint8Array) =>
      new Promise<void>((resolve, reject) => {
        socket.write(bytes, (error) => (error ? reject(error) : resolve()));
      }),
    /** Repeats a piece as fast as the server reads. */
    sendWithoutEnd(text: string) {
      const more = () => {
        while (!socket.destroyed && socket.write(text));
      };
      socket.on("drain", more);
      more();
    },
    /** The answer, or its part if the connection closed. */
    async answer(): Promise<string> {
      for (;;) {
        const head = answered.indexOf("\r\n\r\n");
        const length = Number(/^content-length: (\d+)/im.exec(answered)?.[1] ?? 0);
        if (socket.destroyed || (head >= 0 && answered.length >= head + 4 + length)) return answered;
        await wake.promise;
      }
    },
    leave: () => void socket.destroy(),
  };
}
