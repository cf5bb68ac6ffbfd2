import { existsSync } from "node:fs";

/** The server of the package postfix that accepts all mail and keeps none. */
export interface SmtpSink extends AsyncDisposable {
  port: number;
  /** The server answers nothing until `goOn`. Connections still open, and wait. */
  pause(): void;
  goOn(): void;
}

export async function smtpSink(): Promise<SmtpSink> {
  const program = process.env.SMTP_SINK ?? "/usr/sbin/smtp-sink";
  if (!existsSync(program))
    throw new Error("Cannot measure: there is no smtp-sink (package postfix); SMTP_SINK names another");
  // Below the ports that Linux gives to clients.
  const port = 20_000 + Math.floor(Math.random() * 12_000);
  // As root it needs the name of a user.
  const asNobody = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const sink = Bun.spawn([program, ...asNobody, `127.0.0.1:${port}`, "1000"], { stdout: "ignore", stderr: "inherit" });
  for (;;) {
    if (sink.exitCode !== null) throw new Error("Cannot measure: smtp-sink has ended");
    const answers = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).catch(() => undefined);
    answers?.end();
    if (answers !== undefined) break;
    await Bun.sleep(20);
  }
  return {
    port,
    pause: () => sink.kill("SIGSTOP"),
    goOn: () => sink.kill("SIGCONT"),
    async [Symbol.asyncDispose]() {
      sink.kill("SIGKILL");
      await sink.exited;
    },
  };
}
