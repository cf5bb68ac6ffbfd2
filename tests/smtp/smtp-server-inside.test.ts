import { describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { SMTPServer } from "smtp-server";
import { SMTPConnection } from "smtp-server/lib/smtp-connection.js";
import { SMTPStream } from "smtp-server/lib/smtp-stream.js";

const server = new SMTPServer({ logger: false });
const connection = new SMTPConnection(server, new Socket(), { remoteAddress: "192.0.2.7" });
const parser = new SMTPStream();

/** The kind of a member of the installed library: a method that is called or replaced, or a field with a value. */
const members: [owner: object, name: string, kind: "function" | "object" | "boolean" | "number" | "string"][] = [
  [server, "connect", "function"],
  [server, "connections", "object"],
  [server, "server", "object"],
  [server, "updateSecureContext", "function"],
  [connection, "_createParser", "function"],
  [connection, "_server", "object"],
  [connection, "_onCommand", "function"],
  [connection, "_parser", "object"],
  [connection, "_setListeners", "function"],
  [connection, "_socket", "object"],
  [connection, "_upgrading", "boolean"],
  [connection, "_closing", "boolean"],
  [connection, "_resetSession", "function"],
  [connection, "_unrecognizedCommands", "number"],
  [connection, "_onClose", "function"],
  [connection, "_onError", "function"],
  [connection, "_whenWritable", "function"],
  [connection, "_armTimeout", "function"],
  [connection, "init", "function"],
  [connection, "connectionReady", "function"],
  [connection, "send", "function"],
  [connection, "close", "function"],
  [connection, "upgrade", "function"],
  [connection, "handler_MAIL", "function"],
  [connection, "handler_RCPT", "function"],
  [connection, "handler_DATA", "function"],
  [connection, "remoteAddress", "string"],
  [connection, "secure", "boolean"],
  [parser, "oncommand", "function"],
  [parser, "_dataMode", "boolean"],
  [parser, "_write", "function"],
  [parser, "_feedDataStream", "function"],
  [parser, "_flushData", "function"],
];

describe("smtp-server as installed has all members that we use or replace", () => {
  test.each(members.map(([owner, name, kind]) => [owner.constructor.name, name, kind, owner] as const))(
    "%s.%s is a %s",
    (_class, name, kind, owner) => {
      expect(typeof Reflect.get(owner, name)).toBe(kind);
    },
  );

  test("SMTPConnection.hostNameAppearsAs is false before HELO or EHLO", () => {
    expect(connection.hostNameAppearsAs).toBe(false);
  });
});

describe("its private members", () => {
  const smtp = join(import.meta.dir, "../../src/smtp");
  const privateNames = (text: string) => new Set(text.match(/(?<=[.`\s])_[a-z]\w+/g));

  test("are listed above, exactly those that src uses", async () => {
    const used = privateNames(await Bun.file(join(smtp, "smtp-server-inside.ts")).text());
    const looked = members.map(([, name]) => name).filter((name) => name.startsWith("_"));
    expect([...used].sort()).toEqual(looked.sort());
  });

  test("are used in only one file of src/smtp", async () => {
    const others = (await readdir(smtp)).filter((name) => name !== "smtp-server-inside.ts");
    const touching = await Promise.all(
      others.map(async (name) => ({
        name,
        privates: [...(await Bun.file(join(smtp, name)).text()).matchAll(/\._[a-z]\w+|override _\w+/g)].map(String),
      })),
    );
    expect(touching.filter(({ privates }) => privates.length > 0)).toEqual([]);
  });
});
