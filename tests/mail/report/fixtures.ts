/** Reports of real servers, each about `<m1@mail.example>` to jane@example.com, unless stated otherwise. */

export const returnedMail = [
  "Received: from mail.example by relay.example; Sat, 21 Mar 2026 10:05:01 +0000",
  "Message-ID: <m1@mail.example>",
  "From: Ada <ada@mail.example>",
  "To: jane@example.com",
  "Subject: Hello",
  "Date: Sat, 21 Mar 2026 10:05:00 +0000",
].join("\n");

export const head = (from: string, subject: string, more = "") =>
  `From: ${from}\nTo: bounce@mail.example\nSubject: ${subject}\nDate: Sat, 21 Mar 2026 10:06:00 +0000\nMessage-ID: <r1@reporter.example>\nMIME-Version: 1.0\n${more}`;

export const daemon = "Mail Delivery System <MAILER-DAEMON@reporter.example>";

/** Text without any MIME. */
export function plain(text: string, { from = daemon, more = "" }: { from?: string; more?: string } = {}): string {
  return `${head(from, "failure notice", more)}Content-Type: text/plain; charset=utf-8\n\n${text}`;
}

export interface Status {
  fields: string;
  text?: string;
  message?: string;
  returned?: string;
}

/** A multipart/report of RFC 3462. */
export function dsn({ fields, text = "See below.", message = "", returned = returnedMail }: Status): string {
  const parts = [
    `Content-Type: text/plain; charset=utf-8\n\n${text}\n`,
    `Content-Type: message/delivery-status\n\nReporting-MTA: dns; reporter.example\n${message}\n${fields}\n`,
    `Content-Type: text/rfc822-headers\n\n${returned}\n`,
  ];
  const type = 'Content-Type: multipart/report; report-type=delivery-status; boundary="b1"\n';
  return `${head(daemon, "Undelivered Mail Returned to Sender", type)}\n${parts.map((part) => `--b1\n${part}`).join("")}--b1--\n`;
}

/** One recipient with a server's reply, in the format of Postfix, Sendmail, Exchange and most others. */
export function refused(diagnostic: string, status = "5.0.0"): string {
  return dsn({
    fields: `Final-Recipient: rfc822; jane@example.com\nAction: failed\nStatus: ${status}\nRemote-MTA: dns; mx.example.com\nDiagnostic-Code: ${diagnostic}`,
  });
}

export function feedback(fields: string): string {
  const parts = [
    "Content-Type: text/plain\n\nThis is an email abuse report.\n",
    `Content-Type: message/feedback-report\n\nVersion: 1\nUser-Agent: SomeGenerator/1.0\n${fields}\n`,
    `Content-Type: message/rfc822\n\n${returnedMail}\n\nSpam Spam Spam\n`,
  ];
  const type = 'Content-Type: multipart/report; report-type=feedback-report; boundary="b1"\n';
  return `${head("abusedesk@example.com", "FW: Earn money", type)}\n${parts.map((part) => `--b1\n${part}`).join("")}--b1--\n`;
}

const qmail = (reason: string) =>
  `Hi. This is the qmail-send program at reporter.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out.\n\n<jane@example.com>:\n${reason}\n\n--- Below this line is a copy of the message.\n\n${returnedMail}\n\nHello\n`;

const exim = (reason: string) =>
  `This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n  jane@example.com\n    ${reason}\n\n------ This is a copy of the message, including all the headers. ------\n\n${returnedMail}\n\nHello\n`;

const exchange = (said: string, text: string) =>
  dsn({
    text,
    fields: `Final-Recipient: rfc822;jane@example.com\nAction: failed\nStatus: 5.0.0\nDiagnostic-Code: smtp;${said}`,
  });

export type Row = readonly [server: string, mail: string, told: string];

/** `kind type recipient`. */
export const reports: readonly Row[] = [
  [
    "Postfix, no such user",
    refused(
      "smtp; 550 5.1.1 <jane@example.com>: Recipient address rejected: User unknown in virtual mailbox table",
      "5.1.1",
    ),
    "bounced hard",
  ],
  [
    "Postfix, no such host",
    refused(
      "X-Postfix; Host or domain name not found. Name service error for\n    name=example.com type=A: Host not found",
      "5.4.4",
    ),
    "bounced hard",
  ],
  ["Postfix, null MX", refused("X-Postfix; Domain example.com does not accept mail (nullMX)", "5.1.0"), "bounced hard"],
  [
    "Postfix, tried for five days",
    refused("X-Postfix; connect to mx.example.com[192.0.2.1]:25: Connection timed out", "4.4.1"),
    "bounced soft",
  ],
  ["Postfix, mailbox full", refused("smtp; 552 5.2.2 <jane@example.com>: user is over quota", "5.2.2"), "bounced soft"],
  [
    "Postfix, relay access denied",
    refused("smtp; 554 5.7.1 <jane@example.com>: Relay access denied", "5.7.1"),
    "bounced block",
  ],
  [
    "Postfix, too big",
    refused("X-Postfix; message size 20971520 exceeds size limit 10485760 of server mx.example.com", "5.3.4"),
    "bounced block",
  ],
  ["Sendmail, user unknown", refused("SMTP; 550 5.1.1 <jane@example.com>... User unknown", "5.1.1"), "bounced hard"],
  ["Sendmail, 5.3.0", refused("smtp; 553 5.3.0 <jane@example.com>... Address does not exist", "5.3.0"), "bounced hard"],
  ["Sendmail, host unknown", refused("SMTP; 550 Host unknown", "5.1.2"), "bounced hard"],
  [
    "Sendmail, the page of a list as the only reason",
    dsn({
      text: "   ----- Transcript of session follows -----\n<<< 550 http://www.spamcop.net/bl.shtml?192.0.2.9\n550 5.1.1 <jane@example.com>... User unknown",
      fields:
        "Final-Recipient: RFC822; jane@example.com\nAction: failed\nStatus: 5.1.1\nRemote-MTA: DNS; mx.example.com\nDiagnostic-Code: SMTP; 550 http://www.spamcop.net/bl.shtml?192.0.2.9",
    }),
    "bounced block",
  ],
  [
    "Postfix, a delay in words alone",
    plain(
      `Your message could not be delivered for more than 4 hour(s).\nIt will be retried until it is 5 day(s) old.\n\n<jane@example.com>: connect to mx.example.com[192.0.2.1]:25: No route to host\n\n${returnedMail}\n`,
    ),
    "delayed -",
  ],
  [
    "OpenSMTPD, tried until its time was over",
    plain(`An error occurred for these recipients:\n\njane@example.com: Envelope expired\n\n${returnedMail}\n`),
    "bounced soft",
  ],
  ["Sendmail, a loop", refused("SMTP; 554 5.4.6 Too many hops", "5.4.6"), "bounced unknown"],
  ["Exim, DSN", refused("smtp; 550 Unrouteable address"), "bounced hard"],
  [
    "Exim, words alone",
    plain(
      exim(
        "SMTP error from remote mail server after RCPT TO:<jane@example.com>:\n    host mx.example.com [192.0.2.1]: 550 5.1.1 User unknown",
      ),
    ),
    "bounced hard",
  ],
  ["Exim, unrouteable", plain(exim("Unrouteable address")), "bounced hard"],
  [
    "Exim, marked as an automatic answer",
    plain(exim("mailbox is full: retry timeout exceeded"), {
      more: "X-Failed-Recipients: jane@example.com\nAuto-Submitted: auto-replied\n",
    }),
    "bounced soft",
  ],
  [
    "words about the report's own attachment, and a name of a product, beside that there is no such user",
    plain(
      "Security Suite of the gateway\n\njane@example.com - no such user here.\n\nMessage contains [1] file attachments\n",
    ),
    "bounced hard",
  ],
  [
    "a kind of attachment that is not allowed",
    plain("jane@example.com: the attachment invoice.exe is not allowed here, user unknown to the filter\n"),
    "bounced block",
  ],
  ["qmail, no mailbox", plain(qmail("Sorry, no mailbox here by that name. (#5.1.1)")), "bounced hard"],
  ["qmail, no host", plain(qmail("Sorry, I couldn't find any host named example.com. (#5.1.2)")), "bounced hard"],
  [
    "qmail, remote",
    plain(
      qmail("192.0.2.1 does not like recipient.\nRemote host said: 550 No such user here\nGiving up on 192.0.2.1."),
    ),
    "bounced hard",
  ],
  [
    "qmail, no connection",
    plain(qmail("Sorry, I wasn't able to establish an SMTP connection. (#4.4.1)")),
    "bounced soft",
  ],
  ["qmail, spam", plain(qmail("Remote host said: 554 Message rejected as spam")), "bounced block"],
  [
    "Yahoo, no account",
    plain(qmail("This user doesn't have a yahoo.com account (jane@yahoo.com) [0]")),
    "bounced hard",
  ],
  [
    "Yahoo, account disabled",
    refused(
      "smtp; 554 delivery error: dd Sorry your message to jane@example.com cannot be delivered. This account has been disabled or discontinued [#102].",
    ),
    "bounced unknown",
  ],
  [
    "Gmail, no such user",
    refused(
      "smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please try\n 550-5.1.1 double-checking the recipient's email address for typos or\n 550 5.1.1 unnecessary spaces. https://support.google.com/mail/?p=NoSuchUser a1si2 - gsmtp",
      "5.1.1",
    ),
    "bounced hard",
  ],
  [
    "Gmail, no such domain, under a code that says nothing",
    refused(
      "smtp; DNS Error: 12345 DNS type 'mx' lookup of example.com ended: NXDOMAIN\n Domain name not found",
      "4.0.0",
    ),
    "bounced hard",
  ],
  [
    "Gmail, no answer, under a code that says nothing",
    refused("smtp; DNS Error: 12345 DNS type 'mx' lookup of example.com ended: SERVFAIL", "4.0.0"),
    "bounced soft",
  ],
  [
    "Gmail, inactive",
    refused("smtp; 550 5.2.1 The email account that you tried to reach is disabled. - gsmtp", "5.2.1"),
    "bounced unknown",
  ],
  [
    "Gmail, over quota",
    refused("smtp; 552-5.2.2 The email account that you tried to reach is over quota.", "5.2.2"),
    "bounced soft",
  ],
  [
    "Gmail, unauthenticated",
    refused(
      "smtp; 550-5.7.26 Unauthenticated email from mail.example is not accepted due to domain's DMARC policy",
      "5.7.26",
    ),
    "bounced block",
  ],
  [
    "Gmail, unsolicited",
    refused("smtp; 550-5.7.1 Our system has detected that this message is likely unsolicited mail", "5.7.1"),
    "bounced block",
  ],
  [
    "Outlook.com, no mailbox",
    refused("smtp; 550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302)", "5.5.0"),
    "bounced unknown",
  ],
  ["a bare 550", refused("smtp; 550 Requested action not taken: mailbox unavailable"), "bounced unknown"],
  [
    "Outlook.com, reputation",
    refused(
      "smtp; 550 5.7.1 Unfortunately, messages from [192.0.2.9] weren't sent. Please contact your Internet service provider since part of their network is on our block list (S3150)",
      "5.7.1",
    ),
    "bounced block",
  ],
  [
    "Office 365, not found",
    exchange(
      "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient jane@example.com not found by SMTP address lookup",
      "Your message couldn't be delivered.",
    ),
    "bounced hard",
  ],
  [
    "Office 365, at the edge",
    refused("smtp;550 5.4.1 Recipient address rejected: Access denied. AS(201806281)", "5.4.1"),
    "bounced hard",
  ],
  ["Office 365, relaying", refused("smtp;550 5.4.1 jane@example.com: Relay access denied", "5.4.1"), "bounced block"],
  ["Office 365, queue expired", refused("smtp;550 4.4.7 QUEUE.Expired; message expired", "4.4.7"), "bounced soft"],
  [
    "Office 365, restricted",
    refused("smtp;550 5.7.1 RESOLVER.RST.AuthRequired; authentication required", "5.7.1"),
    "bounced block",
  ],
  [
    "Exchange, German",
    exchange(
      "",
      "Fehler bei der Nachrichtenzustellung an folgende Empfänger:\n\nDie eingegebene E-Mail-Adresse konnte nicht gefunden werden.",
    ),
    "bounced hard",
  ],
  [
    "Exchange, French",
    exchange("", "Échec de la remise. L'adresse de messagerie que vous avez entrée est introuvable."),
    "bounced hard",
  ],
  [
    "Exchange, Spanish",
    exchange("", "No se encontró la dirección de correo electrónico que ha especificado."),
    "bounced hard",
  ],
  [
    "Exchange, Italian",
    exchange("", "L'indirizzo di posta elettronica specificato non è stato trovato."),
    "bounced hard",
  ],
  [
    "Exchange, Dutch",
    exchange("", "Het ingevoerde e-mailadres is niet gevonden. Het adres bestaat niet."),
    "bounced hard",
  ],
  ["Exchange, Portuguese", exchange("", "O endereço de email inserido não foi encontrado."), "bounced hard"],
  ["Exchange, Japanese", exchange("", "入力したメール アドレスは見つかりませんでした。"), "bounced hard"],
  ["Yandex", refused("smtp; 550 5.7.1 No such user!", "5.7.1"), "bounced hard"],
  [
    "Postfix, a name server that gave no answer",
    refused(
      "X-Postfix; Host or domain name not found. Name service error for\n    name=example.com type=MX: Host not found, try again",
      "4.4.3",
    ),
    "bounced soft",
  ],
  [
    "Postfix, a name server that gave no answer, in words alone",
    plain(
      `I'm sorry to have to inform you that your message could not\nbe delivered to one or more recipients.\n\n<jane@example.com>: Host or domain name not found. Name service error for\n    name=example.com type=MX: Host not found, try again\n\n${returnedMail}\n`,
    ),
    "bounced soft",
  ],
  [
    "Exim, a warning",
    plain(
      "This message was created automatically by mail delivery software.\nA message that you sent has not yet been delivered to one or more of its\nrecipients after more than 72 hours on the queue on reporter.example.\n\nThe message identifier is:     1kAbCd-0001Xy-Zz\nThe subject of the message is: Hello\n\nThe address to which the message has not yet been delivered is:\n\n  jane@example.com\n\nNo action is required on your part. Delivery attempts will continue for\nsome time, and this warning may be repeated at intervals if the message\nremains undelivered. Eventually the mail delivery software will give up,\nand when that happens, the message will be returned to you.\n",
      { more: "Auto-Submitted: auto-replied\n" },
    ).replace("failure notice", "Warning: message 1kAbCd-0001Xy-Zz delayed 72 hours"),
    "delayed -",
  ],
  [
    "Mail.ru, Russian",
    plain("Ваше письмо не может быть доставлено:\n\njane@example.com\n  Такого пользователя нет\n"),
    "bounced hard",
  ],
  [
    "Mail.ru",
    refused(
      "smtp; 550 Message was not accepted -- invalid mailbox. Local mailbox jane@example.com is unavailable: user not found",
    ),
    "bounced hard",
  ],
  ["a Polish server", refused("smtp; 550 5.2.1 Nie ma takiego konta", "5.2.1"), "bounced hard"],
  [
    "GMX, full",
    refused("smtp; 552 5.2.2 Requested mail action aborted: exceeded storage allocation; Quota exceeded", "5.2.2"),
    "bounced soft",
  ],
  ["iCloud", refused("smtp; 550 5.1.1 <jane@example.com>: user does not exist", "5.1.1"), "bounced hard"],
  [
    "Domino",
    plain(
      "Your message\n\n  Subject: Hello\n\nwas not delivered to:\n\n  jane@example.com\n\nbecause:\n\n  User jane (jane@example.com) not listed in Domino Directory\n",
    ),
    "bounced hard",
  ],
  [
    "GroupWise",
    plain("The message that you sent was undeliverable to the following:\n\tjane@example.com (user not found)\n"),
    "bounced hard",
  ],
  ["Proofpoint", refused("smtp; 550 5.1.1 User Unknown", "5.1.1"), "bounced hard"],
  [
    "Mimecast, policy",
    refused("smtp; 550 Rejected by header based manually blocked senders - block policy"),
    "bounced block",
  ],
  [
    "Barracuda",
    refused("smtp; 550 permanent failure for one or more recipients (jane@example.com:550 5.1.1 unknown user)"),
    "bounced hard",
  ],
  ["Amazon SES, suppressed there", refused("smtp; 550 5.1.1 user unknown", "5.1.1"), "bounced hard"],
  ["QQ", refused("smtp; 550 Mailbox not found. http://service.mail.qq.com/cgi-bin/help?subtype=1"), "bounced hard"],
  ["163", refused("smtp; 550 User not found: jane@example.com"), "bounced hard"],
  ["docomo", refused("smtp; 550 Unknown user jane@example.com"), "bounced hard"],
  ["a code for gone with words about spam", refused("smtp; 550 5.1.1 Rejected as spam", "5.1.1"), "bounced block"],
  [
    "a code for gone with words about the sender",
    refused("smtp; 550 5.1.1 Sender address rejected: Domain not found", "5.1.1"),
    "bounced block",
  ],
  [
    "a code for gone with words about quota",
    refused("smtp; 550 5.1.1 mailbox quota exceeded", "5.1.1"),
    "bounced soft",
  ],
  [
    "a delay",
    dsn({
      fields:
        "Final-Recipient: rfc822; jane@example.com\nAction: delayed\nStatus: 4.4.1\nWill-Retry-Until: Thu, 26 Mar 2026 10:05:00 +0000",
    }),
    "delayed -",
  ],
  [
    "a success",
    dsn({ fields: "Final-Recipient: rfc822; jane@example.com\nAction: delivered\nStatus: 2.0.0" }),
    "delivered -",
  ],
  [
    "handed on",
    dsn({ fields: "Final-Recipient: rfc822; jane@example.com\nAction: relayed\nStatus: 2.0.0" }),
    "undefined -",
  ],
  [
    "`failure`, in capitals, without a type of address",
    dsn({ fields: "FINAL-RECIPIENT: <jane@example.com>\nACTION: Failure\nSTATUS: 5.1.1 (bad address)" }),
    "bounced hard",
  ],
  [
    "an empty line within a recipient",
    dsn({ fields: "Final-Recipient: rfc822; jane@example.com\n\nAction: failed\nStatus: 5.1.1" }),
    "bounced hard",
  ],
  ["RFC 5965 B.1", feedback("Feedback-Type: abuse\nOriginal-Rcpt-To: <jane@example.com>"), "complained -"],
  ["a complaint about fraud", feedback("Feedback-Type: fraud\nOriginal-Rcpt-To: jane@example.com"), "complained -"],
  ["not spam after all", feedback("Feedback-Type: not-spam\nOriginal-Rcpt-To: jane@example.com"), "undefined -"],
];

/** Ordinary mail that comes to return paths, too. */
export const noReports: readonly (readonly [what: string, mail: string])[] = [
  [
    "out of office",
    plain("I am away until Monday. In urgent cases call 550 1234.", {
      from: "Jane <jane@example.com>",
      more: "Auto-Submitted: auto-replied\n",
    }),
  ],
  [
    "out of office of a postmaster without a sign but its words",
    plain("I am away.", { from: "postmaster@example.com" }).replace("failure notice", "Away"),
  ],
  [
    "an answer without any sign that sets in what it answers",
    plain(
      "I am away.\n\n   From: ada@mail.example\n   To: jane@example.com\n   Subject: Hello\n\n   There is no such user any more.\n",
      { from: "Jane <jane@example.com>" },
    ).replace("failure notice", "Away"),
  ],
  [
    "a receipt (RFC 8098)",
    `${head("Jane <jane@example.com>", "Read: Hello", 'Content-Type: multipart/report; report-type=disposition-notification; boundary="b1"\n')}\n--b1\nContent-Type: text/plain\n\nYour message was displayed.\n--b1\nContent-Type: message/disposition-notification\n\nFinal-Recipient: rfc822; jane@example.com\nDisposition: manual-action/MDN-sent-manually; displayed\n--b1--\n`,
  ],
];
