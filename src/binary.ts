/** The entry of the binary, which is two programs: the service with its commands, and the parser process, which loads nothing else. */
await (process.argv[2] === "parse-mail" ? import("./mail/read/parse-process.ts") : import("./main.ts"));

export {};
