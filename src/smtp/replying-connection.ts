import { enhancedCodeOf, type Reply, reply, replyLines } from "./replies.ts";
import { type CommandParser, LibraryConnection } from "./smtp-server-inside.ts";

/**
 * smtp-server's connection with our replies: each has its enhanced code, and the replies to commands that came together are one write,
 * since writes are a third of the cost of a mail.
 */
export abstract class ReplyingConnection extends LibraryConnection {
  #collected = "";

  /** Greets at once. The library waits 100 ms, to catch clients that talk first. */
  override init(): void {
    this.takeUpSocket(() => this.connectionReady(() => this.flush()));
  }

  answer(answer: Reply): void {
    // Drops a reply during the TLS handshake, where its plain text would break the handshake.
    if (!this.isUpgrading) this.#collected += replyLines(answer);
  }

  /** Writes the collected replies. Called when all received commands are done. */
  flush(): void {
    const collected = this.#collected;
    if (collected === "") return;
    this.#collected = "";
    const { socket } = this;
    if (socket.writable && !socket.destroyed) socket.write(collected, "latin1");
  }

  /** Writes the collected replies soon, even if the next command has to wait. */
  flushSoon(): void {
    if (this.#collected !== "") setImmediate(() => this.flush());
  }

  /** Ends the session with a last reply. */
  endWith(last: Reply): void {
    this.answer(last);
    this.close();
  }

  /** Ends the session with a last reply, and reads no more, whereas `close` would read on for seconds. */
  cutOff(last: Reply): void {
    this.endWith(last);
    this.socket.pause();
    this.socket.destroySoon();
  }

  /** Sends the replies that the library makes by itself. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    this.answer(reply(code, context === false ? "" : enhancedCodeOf(code), data ?? ""));
    if (code === 421) this.close();
  }

  override close(): void {
    this.flush();
    super.close();
  }

  override upgrade(callback: () => void, secureCallback?: () => void): void {
    this.flush();
    super.upgrade(callback, secureCallback);
  }

  protected override parserCreated(parser: CommandParser): void {
    parser.onWorkedThrough = () => this.flush();
    // `finish` comes when the client has closed its side and all its commands are answered. An unfinished command or mail is dropped.
    parser.on("finish", () => this.close());
    parser.on("error", (error: Error) => this.endWith(reply(421, "4.7.0", error.message)));
  }

  /** Writes the collected replies once they are many: a client that sends commands without reading replies could fill the memory. */
  protected override beforeReadingOn(): void {
    if (this.#collected.length > mostCollectedOctets) this.flush();
  }
}

const mostCollectedOctets = 16 << 10;
