import { createSocket } from "node:dgram";
import { promises as dns } from "node:dns";
import { isIPv4 } from "node:net";

/**
 * A name server on a real UDP socket (RFC 1035) that gives the answers it is told, and other ones the next time.
 */
export interface StubDns {
  /** Asks this server over the wire, as a resolver does: A and AAAA. */
  lookup(host: string): Promise<string[]>;
  /**
   * The answers of a host, one list for each time it is asked for; the last stays. `"silence"` gives no answer
   * at all, an empty list is a name without addresses.
   */
  answers(host: string, ...lists: (readonly string[] | "silence")[]): void;
  /** How often the addresses of a host were asked for. */
  questions(host: string): number;
  close(): Promise<void>;
}

const typeA = 1;
const typeAaaa = 28;

export async function startStubDns(): Promise<StubDns> {
  const zone = new Map<string, (readonly string[] | "silence")[]>();
  const asked = new Map<string, number>();
  const socket = createSocket("udp4");

  socket.on("message", (query, peer) => {
    const { host, type, end } = questionOf(query);
    const lists = zone.get(host);
    // A and AAAA of one look-up belong together: each type counts its own questions.
    const key = `${host} ${type}`;
    const count = asked.get(key) ?? 0;
    asked.set(key, count + 1);
    const list = lists?.[Math.min(count, lists.length - 1)];
    if (list === "silence") return;
    const addresses = (list ?? []).filter((address) => isIPv4(address) === (type === typeA));
    socket.send(reply(query, end, addresses, lists !== undefined), peer.port, peer.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", () => resolve()));

  return {
    async lookup(host) {
      const resolver = new dns.Resolver({ timeout: 2000, tries: 1 });
      resolver.setServers([`127.0.0.1:${socket.address().port}`]);
      const [a, aaaa] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
      if (a.status === "rejected" && aaaa.status === "rejected") throw a.reason;
      return [a, aaaa].flatMap((result) => (result.status === "fulfilled" ? result.value : []));
    },
    answers: (host, ...lists) => void zone.set(host, lists),
    questions: (host) => Math.max(asked.get(`${host} ${typeA}`) ?? 0, asked.get(`${host} ${typeAaaa}`) ?? 0),
    close: () => new Promise((resolve) => void socket.close(() => resolve())),
  };
}

function questionOf(query: Buffer): { host: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { host: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function reply(query: Buffer, questionEnd: number, addresses: readonly string[], exists: boolean): Buffer {
  const head = Buffer.from(query.subarray(0, questionEnd));
  head.writeUInt16BE(exists ? 0x8180 : 0x8183, 2); // recursion done; NXDOMAIN for a name that isn't ours
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  const records = addresses.map((address) => {
    const bytes = addressBytes(address);
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0); // the name of the question
    record.writeUInt16BE(bytes.length === 4 ? typeA : typeAaaa, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt16BE(bytes.length, 10); // behind a time to live of 0
    return Buffer.concat([record, bytes]);
  });
  return Buffer.concat([head, ...records]);
}

/** The parser of URLs knows every spelling of IPv6 and gives groups of hex. */
function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const groups = (half: string) => (half === "" ? [] : half.split(":"));
  const missing = 8 - groups(head).length - groups(tail ?? "").length;
  const all = [...groups(head), ...Array<string>(missing).fill("0"), ...groups(tail ?? "")];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}
