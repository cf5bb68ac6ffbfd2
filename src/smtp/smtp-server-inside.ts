import type { Server, Socket } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { SMTPConnection, type SMTPConnectionOptions } from "smtp-server/lib/smtp-connection.js";
import { SMTPStream } from "smtp-server/lib/smtp-stream.js";

/*
 * All undocumented members of smtp-server that we read, set or replace, under names of our own. The library promises none of them, so
 * no other file in src uses a member that begins with an underscore, and tests/smtp/smtp-server-inside.test.ts looks for each of them
 * in the installed library.
 */

type Done = (error?: Error | null) => void;

/** Passes each socket to `open`, whereas the library would open a session of its own. */
export class LibraryServer extends SMTPServer {
  readonly #open: (socket: Socket, options: SMTPConnectionOptions) => void;

  constructor(options: SMTPServerOptions, open: (socket: Socket, options: SMTPConnectionOptions) => void) {
    super(options);
    this.#open = open;
  }

  /** `connect`: opens a session, here one of ours. */
  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    this.#open(socket, options ?? {});
  }

  /** `connections`: a session removes itself when it is closed. */
  addSession(session: LibraryConnection): void {
    this.connections.add(session);
  }

  get openSessions(): number {
    return this.connections.size;
  }

  /**
   * `server`: the listening socket. We close only this one when we stop, since the `close` of the library would also answer 421 to a mail
   * that is being received.
   */
  get listening(): Server {
    return this.server;
  }
}

/** A session of the library, with its inner steps as methods that can be replaced. */
export abstract class LibraryConnection extends SMTPConnection {
  /** `_createParser`: called in the constructor and after STARTTLS. It makes our parser. */
  override _createParser(): CommandParser {
    // The library keeps the options, with the maximum length of a command, in the private field `_server`.
    const parser = new CommandParser({ maxCommandLength: this._server.options.maxCommandLength });
    parser.oncommand = (command, done) => this._onCommand(command, done);
    this.parserCreated(parser);
    return parser;
  }

  protected abstract parserCreated(parser: CommandParser): void;

  /** `_parser`: the current parser, for the start and end of DATA. */
  protected get parser(): CommandParser | undefined {
    return this._parser instanceof CommandParser ? this._parser : undefined;
  }

  /** `_setListeners`: starts to read the socket, which the library does after 100 ms. */
  protected takeUpSocket(ready: () => void): void {
    this._setListeners(ready);
  }

  /** `_socket`: we write the replies to it, and end it to close a session. */
  protected get socket(): Socket {
    return this._socket;
  }

  /** Ends the session at once, without a reply. */
  destroy(error?: Error): void {
    this._socket.destroy(error);
  }

  /** `_upgrading`: a TLS handshake is under way, and nothing may be written. */
  protected get isUpgrading(): boolean {
    return this._upgrading;
  }

  /** `_closing`: the last reply was written. */
  protected get isClosing(): boolean {
    return this._closing;
  }

  /** `_onCommand`: handles each command. Ours can note that the client is alive, or refuse the command. */
  override _onCommand(command: Buffer, callback?: () => void): void {
    if (this.takesCommand()) super._onCommand(command, callback);
  }

  protected abstract takesCommand(): boolean;

  /** `_resetSession`: forgets the transaction, at RSET, EHLO, STARTTLS and the end of a mail (RFC 5321 §4.1.1.5). */
  override _resetSession(): void {
    super._resetSession();
    this.mailForgotten();
  }

  protected abstract mailForgotten(): void;

  /** Forgets the transaction. Also sets `_unrecognizedCommands` to 0, so that wrong commands are counted for each mail anew. */
  protected endMail(): void {
    this._resetSession();
    this._unrecognizedCommands = 0;
  }

  /** `_onClose`: the socket is closed; called more than once. */
  override _onClose(): void {
    super._onClose();
    this.socketGone();
  }

  protected abstract socketGone(): void;

  /** `_onError`: an error of the socket. An error during the handshake or with a TLS code means that TLS failed. */
  override _onError(error: Error & { code?: string }): void {
    if (this._upgrading || error.code?.startsWith("ERR_SSL_")) this.tlsFailed();
    else super._onError(error);
  }

  protected abstract tlsFailed(): void;

  /** `_whenWritable`: waits until the socket takes more, so that no commands are read from a client that does not read its replies. */
  override _whenWritable(next: () => void): void {
    this.beforeReadingOn();
    super._whenWritable(next);
  }

  protected abstract beforeReadingOn(): void;

  /** `_armTimeout`: does nothing, since one sweep checks all sessions. The library has a timer for each, and each octet restarts it. */
  override _armTimeout(): void {}
}

/**
 * The library's command parser with our own reader of DATA. The library's reader also removes a dot after a bare LF, which changes the
 * mail, keeps one object for each stuffed dot, and copies each chunk once more.
 */
export class CommandParser extends SMTPStream {
  /** Called with the octets of DATA; `done` requests the next ones. */
  onData: (chunk: Buffer, done: Done) => void = (_chunk, done) => done();
  /** Called when all received octets are handled, which is the time to write the replies. */
  onWorkedThrough: () => void = () => undefined;

  /** Sets `_dataMode`: the next octets are a mail, and `onData` gets them. */
  startData(onData: (chunk: Buffer, done: Done) => void): void {
    this.onData = onData;
    this._dataMode = true;
  }

  /** Returns to commands. `rest` has the octets after the mail, which are read as commands. */
  endData(rest: Buffer, done: Done): void {
    this._dataMode = false;
    if (rest.length > 0) this._write(rest, "buffer", done);
    else done();
  }

  /** `_write`: handles the received octets. Ours then also calls `onWorkedThrough`. */
  override _write(chunk: Buffer, encoding: BufferEncoding | "buffer", next: Done): void {
    super._write(chunk, encoding, (error) => {
      this.onWorkedThrough();
      next(error);
    });
  }

  /** `_feedDataStream`: handles the octets of a mail. */
  override _feedDataStream(chunk: Buffer, done: Done): void {
    this.onData(chunk, done);
  }

  /** `_flushData`: handles a line without its end when the connection ends. Ours ignores it, since it may be half of a command. */
  override _flushData(): void {}
}
