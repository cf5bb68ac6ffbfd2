import { SMTPStream } from "smtp-server/lib/smtp-stream.js";

type Done = (error?: Error | null) => void;

/**
 * smtp-server's command parser with our own reading of DATA. Its own takes out a dot behind a bare LF as
 * well, which changes the mail, keeps one object for each stuffed dot, and copies each chunk once more.
 */
export class DoorParser extends SMTPStream {
  /** Given the octets of DATA and what lets the next ones in. */
  onData: (chunk: Buffer, done: Done) => void = (_chunk, done) => done();
  /** Called when all that has come was worked through: the moment to write the replies. */
  onWorkedThrough: () => void = () => undefined;

  startData(onData: (chunk: Buffer, done: Done) => void): void {
    this.onData = onData;
    this._dataMode = true;
  }

  /** Goes back to commands with what came behind the mail. */
  endData(rest: Buffer, done: Done): void {
    this._dataMode = false;
    if (rest.length > 0) this._write(rest, "buffer", done);
    else done();
  }

  override _write(chunk: Buffer, encoding: BufferEncoding | "buffer", next: Done): void {
    super._write(chunk, encoding, (error) => {
      this.onWorkedThrough();
      next(error);
    });
  }

  override _feedDataStream(chunk: Buffer, done: Done): void {
    this.onData(chunk, done);
  }

  /** A line without its end is no command, also when its connection ends: it may be the half of another. */
  override _flushData(): void {}
}
