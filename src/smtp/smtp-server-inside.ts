import type { Server, Socket } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { SMTPConnection, type SMTPConnectionOptions } from "smtp-server/lib/smtp-connection.js";
import { SMTPStream } from "smtp-server/lib/smtp-stream.js";

/*
 * All that we read, set or replace of smtp-server beyond its manual, under names of our own. No version of it promises
 * any of this, so nothing else in src touches a member of it that begins with an underscore, and
 * tests/smtp/smtp-server-inside.test.ts looks for each by its name on the library as installed.
 */

type Done = (error?: Error | null) => void;

/** Hands over each socket, where the library would open a session of its own. */
export class LibraryServer extends SMTPServer {
  readonly #open: (socket: Socket, options: SMTPConnectionOptions) => void;

  constructor(options: SMTPServerOptions, open: (socket: Socket, options: SMTPConnectionOptions) => void) {
    super(options);
    this.#open = open;
  }

  /** `connect`: where a session begins, so that it is one of ours. */
  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    this.#open(socket, options ?? {});
  }

  /** `connections`: a session takes itself out of it when its socket is gone or it is closed for good. */
  addSession(session: LibraryConnection): void {
    this.connections.add(session);
  }

  get openSessions(): number {
    return this.connections.size;
  }

  /** `server`: closed by itself when we stop, since the library's `close` would answer 421 to a mail in flight. */
  get listening(): Server {
    return this.server;
  }
}

/** A session of the library with what it does by itself as methods to be replaced. */
export abstract class LibraryConnection extends SMTPConnection {
  /** `_createParser`: called in the constructor and after STARTTLS, so that the parser is ours. */
  override _createParser(): CommandParser {
    // `_server`: its options, for the longest line of a command.
    const parser = new CommandParser({ maxCommandLength: this._server.options.maxCommandLength });
    parser.oncommand = (command, done) => this._onCommand(command, done);
    this.parserCreated(parser);
    return parser;
  }

  protected abstract parserCreated(parser: CommandParser): void;

  /** `_parser`: the one in force, to take it into DATA and out again. */
  protected get parser(): CommandParser | undefined {
    return this._parser instanceof CommandParser ? this._parser : undefined;
  }

  /** `_setListeners`: takes up the socket, which the library does 100 ms after it came. */
  protected takeUpSocket(ready: () => void): void {
    this._setListeners(ready);
  }

  /** `_socket`: replies are written to it by us, in one write; a session is cut off by ending it. */
  protected get socket(): Socket {
    return this._socket;
  }

  /** Ends the session without a word, whatever it is at. */
  destroy(error?: Error): void {
    this._socket.destroy(error);
  }

  /** `_upgrading`: TLS is being agreed on, and nothing may be written. */
  protected get isUpgrading(): boolean {
    return this._upgrading;
  }

  /** `_closing`: a last reply was written. */
  protected get isClosing(): boolean {
    return this._closing;
  }

  /** `_onCommand`: each line of a command, to be counted as a sign of life or turned away. */
  override _onCommand(command: Buffer, callback?: () => void): void {
    if (this.takesCommand()) super._onCommand(command, callback);
  }

  protected abstract takesCommand(): boolean;

  /** `_resetSession`: RSET, EHLO, STARTTLS and the end of a mail: what was begun is forgotten (RFC 5321 §4.1.1.5). */
  override _resetSession(): void {
    super._resetSession();
    this.mailForgotten();
  }

  protected abstract mailForgotten(): void;

  /** Also `_unrecognizedCommands`: who sends a mail may be wrong as often again. */
  protected endMail(): void {
    this._resetSession();
    this._unrecognizedCommands = 0;
  }

  /** `_onClose`: the socket is gone; called more than once. */
  override _onClose(): void {
    super._onClose();
    this.socketGone();
  }

  protected abstract socketGone(): void;

  /** `_onError`: an error of the socket; one of TLS comes by two ways, and is the client's. */
  override _onError(error: Error & { code?: string }): void {
    if (this._upgrading || error.code?.startsWith("ERR_SSL_")) this.tlsFailed();
    else super._onError(error);
  }

  protected abstract tlsFailed(): void;

  /** `_whenWritable`: a client that sends and never reads is read no further. */
  override _whenWritable(next: () => void): void {
    this.beforeReadingOn();
    super._whenWritable(next);
  }

  protected abstract beforeReadingOn(): void;

  /** `_armTimeout`: one sweep holds all sessions against their deadlines; the library has a timer for each, and each octet restarts it. */
  override _armTimeout(): void {}
}

/**
 * The library's command parser with our own reading of DATA. Its own takes out a dot behind a bare LF as
 * well, which changes the mail, keeps one object for each stuffed dot, and copies each chunk once more.
 */
export class CommandParser extends SMTPStream {
  /** Given the octets of DATA and what lets the next ones in. */
  onData: (chunk: Buffer, done: Done) => void = (_chunk, done) => done();
  /** Called when all that has come was worked through: the moment to write the replies. */
  onWorkedThrough: () => void = () => undefined;

  /** `_dataMode`: whether what comes is a mail. */
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

  /** `_write`: all that comes, to know when it was worked through. */
  override _write(chunk: Buffer, encoding: BufferEncoding | "buffer", next: Done): void {
    super._write(chunk, encoding, (error) => {
      this.onWorkedThrough();
      next(error);
    });
  }

  /** `_feedDataStream`: what comes while it is a mail. */
  override _feedDataStream(chunk: Buffer, done: Done): void {
    this.onData(chunk, done);
  }

  /** `_flushData`: a line without its end is no command, also when its connection ends: it may be the half of another. */
  override _flushData(): void {}
}
