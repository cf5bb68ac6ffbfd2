/** The addresses of the server that serves the documentation. */
export interface ThisServer {
  /** Without a slash at its end. */
  baseUrl: string;
  mailDomain: string;
  /** Host and port of the SMTP listener. */
  smtp: string;
}

/** The addresses in the guides: those of a server with default settings, or of one in production. */
const written = /https?:\/\/(?:127\.0\.0\.1:3000|mail\.example\.com)(?![\w.-])|127\.0\.0\.1:2525\b|inbox\.localhost\b/g;

/** Replaces the example addresses in a text by those of this server, so that its lines can be pasted as they stand. */
export function namedAfter({ baseUrl, mailDomain, smtp }: ThisServer, text: string): string {
  return text.replaceAll(written, (found) => {
    if (found.startsWith("http")) return baseUrl;
    return found === "inbox.localhost" ? mailDomain : smtp;
  });
}

/**
 * Host and port at which a reader of the documentation reaches the SMTP listener: its name, unless it listens only on
 * this machine or its name is a local one.
 */
export function smtpAddress(listener: { host: string; hostname: string; port: number }): string {
  const { host, hostname, port } = listener;
  if (host === "::1") return `[::1]:${port}`;
  if (/^127\.|^localhost$/.test(host)) return `${host}:${port}`;
  return `${/(?:^|\.)localhost$/.test(hostname) ? "127.0.0.1" : hostname}:${port}`;
}

/** Makes a text once for each set of addresses. The port of SMTP is known only after the first requests may have come. */
export function madeFor<Made>(server: () => ThisServer, make: (server: ThisServer) => Made): () => Made {
  let last: { key: string; made: Made } | undefined;
  return () => {
    const now = server();
    const key = `${now.baseUrl} ${now.mailDomain} ${now.smtp}`;
    if (last?.key !== key) last = { key, made: make(now) };
    return last.made;
  };
}
