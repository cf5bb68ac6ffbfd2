/** Random mails, written by the lines below, which share nothing with the parser. */
import fc from "fast-check";

/** A mail of these parts: the first is the text, the others are files. */
export interface MailTree {
  subject: string;
  text: string;
  nodes: readonly Node[];
  epilogue: boolean;
}

interface File {
  kind: "file";
  name: string;
  bytes: Uint8Array;
  encoding: "base64" | "quoted-printable" | "8bit";
}

interface Box {
  kind: "box";
  children: Node[];
}

type Node = File | Box;

/** Bytes that 8bit can carry: lines that end in CRLF, without our delimiters. */
const binary = fc.uint8Array({ maxLength: 200 });
const lines = fc
  .array(fc.string({ unit: fc.constantFrom(..."ab =-.\t", "ü", "--", "\f"), maxLength: 20 }), { maxLength: 6 })
  .map((all) => all.filter((line) => !line.startsWith("--b")))
  .map((all) => new Uint8Array(Buffer.from(all.join("\r\n"))));
const name = fc
  .string({ unit: fc.constantFrom(..."abZ 0.-_;=(\"'\\", "ü", "報", "👋"), minLength: 1, maxLength: 40 })
  .filter((text) => /^[^\s.].*[^\s]$|^\w$/u.test(text));

const file = fc.oneof(
  fc.record({
    kind: fc.constant("file" as const),
    name,
    bytes: binary,
    encoding: fc.constantFrom("base64" as const, "quoted-printable" as const),
  }),
  fc.record({ kind: fc.constant("file" as const), name, bytes: lines, encoding: fc.constant("8bit" as const) }),
);
const { tree } = fc.letrec<{ tree: Node; box: Node }>((tie) => ({
  tree: fc.oneof({ depthSize: "small", withCrossShrink: true }, file, tie("box")),
  box: fc.record({
    kind: fc.constant("box" as const),
    children: fc.array(tie("tree"), { minLength: 1, maxLength: 4 }),
  }),
}));
const words = fc.string({ unit: fc.constantFrom(..."abc 019?=_", "ü", "報", "👋"), maxLength: 60 });
const body = fc.array(words, { maxLength: 5 }).map((all) => all.map((line) => line.trimEnd()).join("\n"));

export const mailTrees: fc.Arbitrary<MailTree> = fc.record({
  subject: words,
  text: body,
  nodes: fc.array(tree, { maxLength: 4 }),
  epilogue: fc.boolean(),
});

/** The files of a mail, in order. */
export function filesIn({ nodes }: Pick<MailTree, "nodes">): File[] {
  return nodes.flatMap(filesOf);
}

function filesOf(node: Node): File[] {
  return node.kind === "file" ? [node] : node.children.flatMap(filesOf);
}

/** The octets of a mail with these headers besides its subject. */
export function written({ subject, text, nodes, epilogue }: MailTree, headers = ""): Uint8Array {
  let boxes = 0;
  function box(parts: readonly Buffer[], rest: string): Buffer {
    // Each boundary begins with the outer one, so that a careless reader confuses them.
    const boundary = "b".repeat(++boxes);
    const delimited = parts.flatMap((part) => [Buffer.from(`\r\n--${boundary}\r\n`), part]);
    const head = Buffer.from(`Content-Type: multipart/mixed; boundary="${boundary}"\r\n\r\nnot to be read`);
    return Buffer.concat([head, ...delimited, Buffer.from(`\r\n--${boundary}--${rest}`)]);
  }
  function node(one: Node): Buffer {
    if (one.kind === "box") return box(one.children.map(node), "\r\nnor this");
    const head = `Content-Type: application/x-any\r\nContent-Transfer-Encoding: ${one.encoding}\r\n`;
    const disposition = `Content-Disposition: attachment;\r\n filename*=utf-8''${encodeURIComponent(one.name).replace(/['()*]/g, percent)}\r\n\r\n`;
    return Buffer.concat([Buffer.from(head + disposition), encoded(one)]);
  }
  const head = `${headers}Subject: ${encodedWords(subject)}\r\n`;
  const main = Buffer.from(
    `Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${text.replaceAll("\n", "\r\n")}`,
  );
  return Buffer.concat([Buffer.from(head), box([main, ...nodes.map(node)], epilogue ? "\r\nnor that\r\n" : "")]);
}

function encoded({ bytes, encoding }: File): Buffer {
  const buffer = Buffer.from(bytes);
  if (encoding === "8bit") return buffer;
  if (encoding === "base64") return Buffer.from(buffer.toString("base64").replace(/.{76}/g, "$&\r\n"));
  return Buffer.from(
    [...buffer]
      .map((byte, index) => `=${byte.toString(16).toUpperCase().padStart(2, "0")}${index % 20 === 19 ? "=\r\n" : ""}`)
      .join(""),
  );
}

function encodedWords(text: string): string {
  const points = [...text];
  const words: string[] = [];
  for (let at = 0; at < points.length; at += 10) {
    words.push(`=?utf-8?B?${Buffer.from(points.slice(at, at + 10).join("")).toString("base64")}?=`);
  }
  return words.join("\r\n ");
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
