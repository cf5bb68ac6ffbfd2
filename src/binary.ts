/**
 * The entry of the binary, which is two programs: the service with its commands, and the parser that it starts as a process of
 * its own, which shall load nothing else.
 */
await (process.argv[2] === "parse-mail" ? import("./mail/read/parse-process.ts") : import("./main.ts"));

export {};
