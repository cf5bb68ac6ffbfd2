/** The entry of the binary, which is three programs: the service with its commands, the parser process, and the thread of the database. */
if (!Bun.isMainThread) await import("./database/embedded-thread.ts");
else if (process.argv[2] === "parse-mail") await import("./mail/read/parse-process.ts");
else await import("./main.ts");

export {};
