import { SMTPConnection } from "smtp-server/lib/smtp-connection.js";
import { DoorParser } from "./parser.ts";
import { enhancedCodeOf, type Reply, reply, replyLines } from "./replies.ts";

/**
 * smtp-server's connection with our way of replying: every reply with its enhanced code, and the replies
 * to commands that came together in one write, since writes are a third of what a mail costs.
 */
export class ReplyingConnection extends SMTPConnection {
  #gathered = "";

  /** Greets at once: the library waits 100 ms to catch those who talk first. */
  override init(): void {
    this._setListeners(() => this.connectionReady(() => this.flush()));
  }

  answer(answer: Reply): void {
    // While TLS is being agreed on, a reply would be plain text in the middle of the handshake.
    if (!this._upgrading) this.#gathered += replyLines(answer);
  }

  /** Writes what was gathered. Called when all commands at hand are worked through. */
  flush(): void {
    const gathered = this.#gathered;
    if (gathered === "") return;
    this.#gathered = "";
    if (this._socket.writable && !this._socket.destroyed) this._socket.write(gathered, "latin1");
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
    this._socket.pause();
    this._socket.destroySoon();
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

  override _createParser(): DoorParser {
    const parser = new DoorParser({ maxCommandLength: this._server.options.maxCommandLength });
    parser.oncommand = (command, callback) => this._onCommand(command, callback);
    parser.onWorkedThrough = () => this.flush();
    parser.on("error", (error: Error) => this.endWith(reply(421, "4.7.0", error.message)));
    return parser;
  }

  /** A client that sends and never reads is read no further: its replies would heap up here. */
  override _whenWritable(next: () => void): void {
    if (this.#gathered.length > gatheredOctets) this.flush();
    super._whenWritable(next);
  }

  /** One sweep holds all sessions against their deadlines; the library has a timer for each, and each octet restarts it. */
  override _armTimeout(): void {}
}

const gatheredOctets = 16 << 10;
