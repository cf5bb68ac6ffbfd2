import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { visibleText } from "../standards/text.ts";
import { type Answer, type AnswerReader, answerReader } from "./answer.ts";

/** One connection to one checked address. It carries one exchange at a time. */
export interface Connection {
  /** Sends a request and keeps at most `keptBytes` of the response body. */
  exchange(request: string | Uint8Array, keptBytes?: number): Promise<Exchange>;
  /** The part of the response that the exchange waits for. */
  awaits(): "headers" | "body";
  /** Whether another request may be written: the connection is neither closed nor closing. */
  isOpen(): boolean;
  destroy(): void;
  onClose(listener: () => void): void;
}

export type Exchange =
  | { answer: Answer }
  | {
      error: string;
      /** Whether a part of the request may have reached the receiver. */
      written: boolean;
      /** Whether a byte of the response arrived. */
      heard: boolean;
    };

export interface Target {
  /** An IP address, which the caller has checked. There is no look-up here. */
  address: string;
  port: number;
  /** The name in the certificate; `undefined` for plain http. */
  tlsHost: string | undefined;
  /** PEM certificates to trust instead of the system's. */
  ca: string | undefined;
}

export interface Dialling {
  /** The connection, or an error text. */
  connected: Promise<Connection | string>;
  cancel(): void;
}

/** Opens a connection. Over TLS, it resolves only if the certificate is valid for the host's name. */
export function dial(target: Target): Dialling {
  const socket = target.tlsHost === undefined ? dialTcp(target) : dialTls(target, target.tlsHost);
  const connected = new Promise<Connection | string>((resolve) => {
    const opened = target.tlsHost === undefined ? "connect" : "secureConnect";
    let fault = "the connection was closed while it was being opened";
    socket.once(opened, () => resolve(connectionOver(socket)));
    socket.once("close", () => resolve(fault));
    socket.on("error", (error) => {
      fault = errorText(error);
      socket.destroy();
    });
  });
  return { connected, cancel: () => socket.destroy() };
}

function dialTcp({ address, port }: Target): Socket {
  return connectTcp({ host: address, port, noDelay: true });
}

function dialTls({ address, port, ca }: Target, host: string): Socket {
  return connectTls({
    host: address,
    port,
    // SNI must not contain an IP address (RFC 6066 §3). The certificate is checked against `host` in any case.
    servername: host === address ? "" : host,
    // Set here, because NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would otherwise turn it off.
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
    ...(ca === undefined ? {} : { ca }),
  });
}

function connectionOver(socket: Socket): Connection {
  let reader: AnswerReader | undefined;
  let settle: ((exchange: Exchange) => void) | undefined;
  let written = false;
  let heard = false;
  let fault: string | undefined;
  const isOpen = () => !socket.destroyed && socket.readyState === "open";

  function finish(result: Answer | string): void {
    const settled = settle;
    settle = undefined;
    const isAnswer = typeof result === "object";
    if (!isAnswer || result.reusableMs === 0) socket.destroy();
    settled?.(isAnswer ? { answer: result } : { error: result, written, heard });
  }

  socket.on("data", (chunk: Buffer) => {
    // No exchange waits for these bytes. The connection is closed, because they would look like the response to the next request.
    if (!settle || !reader) return void socket.destroy();
    heard = true;
    const result = reader.take(chunk);
    if (result !== undefined) finish(result);
  });
  socket.on("end", () => {
    if (settle && reader) finish(reader.end());
    else socket.destroy();
  });
  socket.on("error", (error) => {
    fault = errorText(error);
    socket.destroy();
  });
  socket.on("close", () => {
    if (settle) finish(fault ?? "the connection was closed before an answer");
  });

  return {
    exchange(request, keptBytes) {
      reader = answerReader(keptBytes);
      heard = false;
      written = isOpen();
      return new Promise((resolve) => {
        settle = resolve;
        if (written) socket.write(request);
        else finish(fault ?? "the connection was closed before an answer");
      });
    },
    awaits: () => reader?.awaits() ?? "headers",
    isOpen,
    destroy: () => socket.destroy(),
    onClose: (listener) => void socket.once("close", listener),
  };
}

const errorTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection reset",
  ETIMEDOUT: "connection timed out",
  ENETUNREACH: "network unreachable",
  EHOSTUNREACH: "host unreachable",
  EADDRNOTAVAIL: "address not available",
  EMFILE: "too many open files",
};

function errorText(error: Error): string {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return errorTexts[code] ?? visibleText(error.message || code || "connection failed").slice(0, 200);
}
