import { enhancedCodeOf, type Reply, reply, replyLines } from "./replies.ts";
import { type CommandParser, LibraryConnection } from "./smtp-server-inside.ts";

/**
 * smtp-server's connection with our way of replying: every reply with its enhanced code, and the replies
 * to commands that came together in one write, since writes are a third of what a mail costs.
 */
export abstract class ReplyingConnection extends LibraryConnection {
  #gathered = "";

  /** Greets at once: the library waits 100 ms to catch those who talk first. */
  override init(): void {
    this.takeUpSocket(() => this.connectionReady(() => this.flush()));
  }

  answer(answer: Reply): void {
    // While TLS is being agreed on, a reply would be plain text in the middle of the handshake.
    if (!this.isUpgrading) this.#gathered += replyLines(answer);
  }

  /** Writes what was gathered. Called when all commands at hand are worked through. */
  flush(): void {
    const gathered = this.#gathered;
    if (gathered === "") return;
    this.#gathered = "";
    const { socket } = this;
    if (socket.writable && !socket.destroyed) socket.write(gathered, "latin1");
  }

  /** Writes what was gathered once this turn is over, whatever the next command waits for. */
  flushSoon(): void {
    if (this.#gathered !== "") setImmediate(() => this.flush());
  }

  /** Ends the session with a last reply. */
  endWith(last: Reply): void {
    this.answer(last);
    this.close();
  }

  /** Ends the session with a last reply and reads no more, where `close` would read what comes for seconds. */
  cutOff(last: Reply): void {
    this.endWith(last);
    this.socket.pause();
    this.socket.destroySoon();
  }

  /** The replies that the library words by itself. */
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
    // The client has said all, and each command of it has its reply: the rest of one, or of a mail, is nothing.
    parser.on("finish", () => this.close());
    parser.on("error", (error: Error) => this.endWith(reply(421, "4.7.0", error.message)));
  }

  /** A client that sends and never reads: its replies would heap up here. */
  protected override beforeReadingOn(): void {
    if (this.#gathered.length > gatheredOctets) this.flush();
  }
}

const gatheredOctets = 16 << 10;
