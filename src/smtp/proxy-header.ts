import { isIPv4, isIPv6, type Socket } from "node:net";

/**
 * The head of a connection from a proxy that speaks the PROXY protocol, version 1 or 2 (haproxy.org, proxy-protocol.txt). `client`: the
 * address of the client. `no_client`: the proxy itself connects, for example to check our health, or does not know the client.
 */
export type ProxyHeader = ({ kind: "client"; address: string } | { kind: "no_client" }) & {
  /** The length of the header. */
  bytes: number;
};

/** Reads the header at the start of these bytes. `unfinished`: more bytes are needed. `wrong`: there is no valid header. */
export function readProxyHeader(received: Buffer): ProxyHeader | "unfinished" | "wrong" {
  if (startsLike(received, signature)) return received.length < headBytes ? "unfinished" : readBinary(received);
  if (startsLike(received, proxyWord)) return readLine(received);
  return "wrong";
}

const proxyWord = Buffer.from("PROXY ");
const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n");
/** The signature of version 2, its version and command, its family, and the length of the rest. */
const headBytes = 16;
/** The longest line of version 1, with its CRLF. */
const mostLineBytes = 107;
/** The most bytes behind the head of version 2. Proxies add details of TLS there, which take some hundred. */
const mostRestBytes = 4096;

function startsLike(received: Buffer, word: Buffer): boolean {
  const length = Math.min(received.length, word.length);
  return received.subarray(0, length).equals(word.subarray(0, length));
}

/** Reads version 1, for example `PROXY TCP4 192.0.2.9 198.51.100.1 50000 25`. */
function readLine(received: Buffer): ProxyHeader | "unfinished" | "wrong" {
  const end = received.subarray(0, mostLineBytes).indexOf("\r\n");
  if (end < 0) return received.length < mostLineBytes ? "unfinished" : "wrong";
  const [, family, address = "", ...others] = received.toString("latin1", 0, end).split(" ");
  const bytes = end + 2;
  if (family === "UNKNOWN") return { kind: "no_client", bytes };
  const isAddress = family === "TCP4" ? isIPv4 : family === "TCP6" ? isIPv6 : () => false;
  const isWhole = others.length === 3 && isAddress(address) && !address.includes("%");
  return isWhole ? { kind: "client", address, bytes } : "wrong";
}

/** Reads version 2. A family without an IP address, such as a Unix socket, counts as an unknown client. */
function readBinary(received: Buffer): ProxyHeader | "unfinished" | "wrong" {
  const [version, command] = [received.readUInt8(12) >> 4, received.readUInt8(12) & 0xf];
  const [family, restBytes] = [received.readUInt8(13) >> 4, received.readUInt16BE(14)];
  const addressBytes = family === 1 ? 4 : family === 2 ? 16 : 0;
  // The rest has two addresses and two ports, before details that are not read.
  const isWrong = version !== 2 || command > 1 || restBytes > mostRestBytes;
  if (isWrong || (command === 1 && addressBytes > 0 && restBytes < 2 * addressBytes + 4)) return "wrong";
  const bytes = headBytes + restBytes;
  if (received.length < bytes) return "unfinished";
  if (command === 0 || addressBytes === 0) return { kind: "no_client", bytes };
  return { kind: "client", address: addressIn(received.subarray(headBytes, headBytes + addressBytes)), bytes };
}

function addressIn(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join(".");
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16)).join(":");
}

/**
 * Takes the header off a new connection, and leaves all bytes behind it to be read. `wrong` also stands for a header that does not come
 * in time. `left`: the proxy has closed the connection, as one does to see whether this port is open.
 */
export async function takeProxyHeader(socket: Socket, waitMs: number): Promise<ProxyHeader | "wrong" | "left"> {
  const { promise, resolve } = Promise.withResolvers<ProxyHeader | "wrong" | "left">();
  let received = Buffer.alloc(0);
  const onData = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk]);
    const header = readProxyHeader(received);
    if (header !== "unfinished") resolve(header);
  };
  const onEnd = () => resolve("left");
  const timer = setTimeout(resolve, waitMs, "wrong");
  const onError = () => resolve("left");
  socket.on("data", onData).on("end", onEnd).on("close", onEnd).on("error", onError);
  const header = await promise;
  clearTimeout(timer);
  socket.pause();
  socket.off("data", onData).off("end", onEnd).off("close", onEnd);
  if (typeof header === "string") return header;
  // The session has its own listener for errors.
  socket.off("error", onError);
  if (received.length > header.bytes) socket.unshift(received.subarray(header.bytes));
  return header;
}
