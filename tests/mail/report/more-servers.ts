import { dsn, head, plain, type Row, refused, returnedMail } from "./fixtures.ts";

/**
 * Reports and replies to a return path, written after the reader and its phrases were done. The first run read 48 of the first 50 right, 25
 * of 44 with words only, and 26 of 30 confusing ones. Each is about `<m1@mail.example>` to jane@example.com. `no report` means ordinary
 * mail.
 */
const from = (sender: string, subject: string, text: string, more = "") =>
  `${head(sender, subject, more)}Content-Type: text/plain; charset=utf-8\n\n${text}\n`;

const status = (diagnostic: string, code: string, text = "See below.", action = "failed") =>
  dsn({
    text,
    fields: `Final-Recipient: rfc822; jane@example.com\nAction: ${action}\nStatus: ${code}\nDiagnostic-Code: ${diagnostic}`,
  });

const withReturnedPart = (sender: string, subject: string, text: string, more = "") =>
  `${head(sender, subject, `${more}Content-Type: multipart/mixed; boundary="b1"\n`)}\n--b1\nContent-Type: text/plain; charset=utf-8\n\n${text}\n--b1\nContent-Type: message/rfc822\n\n${returnedMail}\n\nHello\n--b1--\n`;

export const moreServers: readonly Row[] = [
  [
    "Zimbra, full",
    refused("smtp; 452 4.2.2 Over quota (mailbox for jane@example.com exceeds its limit)", "4.2.2"),
    "bounced soft",
  ],
  [
    "Dovecot LMTP, full",
    refused("x-unix; 552 5.2.2 <jane@example.com> Quota exceeded (mailbox for user is full)", "5.2.2"),
    "bounced soft",
  ],
  [
    "Dovecot LMTP, no user",
    refused("smtp; 550 5.1.1 <jane@example.com> User doesn't exist: jane@example.com", "5.1.1"),
    "bounced hard",
  ],
  [
    "Haraka, no recipient here",
    refused("smtp; 550 I cannot deliver mail for {jane@example.com}", "5.0.0"),
    "bounced unknown",
  ],
  ["Stalwart", refused("smtp; 550 5.1.2 Mailbox does not exist.", "5.1.2"), "bounced hard"],
  ["Maddy", refused("smtp; 501 5.1.1 No such recipient", "5.1.1"), "bounced hard"],
  ["OpenSMTPD, DSN", refused("smtp; 550 Invalid recipient: <jane@example.com>", "5.0.0"), "bounced hard"],
  [
    "Kerio, in German",
    from(
      "MAILER-DAEMON@reporter.example",
      "Unzustellbare Nachricht",
      "Ihre Nachricht konnte nicht zugestellt werden:\n\njane@example.com\n    Der Empfänger ist auf diesem Server nicht bekannt.",
    ),
    "bounced hard",
  ],
  [
    "a Swedish provider",
    from(
      "postmaster@reporter.example",
      "Ditt meddelande kunde inte levereras",
      `Meddelandet till <jane@example.com> kunde inte levereras: 550 5.1.1 Mottagaren är okänd.\n\n${returnedMail}`,
    ),
    "bounced hard",
  ],
  [
    "a French provider, full",
    from(
      "MAILER-DAEMON@reporter.example",
      "Message non délivré",
      "Votre message n'a pas pu être remis à :\n\njane@example.com\n    552 5.2.2 La boîte du destinataire est pleine",
    ),
    "bounced soft",
  ],
  [
    "an Italian provider, full",
    refused("smtp; 552 5.7.0 Casella del destinatario piena, riprovare in seguito", "5.7.0"),
    "bounced soft",
  ],
  [
    "a Spanish provider, policy",
    refused("smtp; 554 5.7.1 Mensaje rechazado por contenido no deseado (spam)", "5.7.1"),
    "bounced block",
  ],
  ["a Turkish provider", refused("smtp; 550 5.1.1 Böyle bir kullanıcı yok", "5.0.0"), "bounced hard"],
  [
    "a Korean provider, dormant",
    refused("smtp; 550 5.1.1 존재하지 않는 계정입니다 (no such account)", "5.0.0"),
    "bounced hard",
  ],
  [
    "a Chinese gateway, full",
    refused("smtp; 552 Mail box space not enough, user: jane@example.com", "5.6.0"),
    "bounced soft",
  ],
  [
    "a Japanese phone company",
    from(
      "Mail Delivery Subsystem <MAILER-DAEMON@reporter.example>",
      "Returned mail: see transcript for details",
      `   ----- The following addresses had permanent fatal errors -----\n<jane@example.com>\n    (reason: 550 Unknown user jane@example.com)\n\n${returnedMail}`,
    ),
    "bounced hard",
  ],
  [
    "Gmail, a rate limit",
    refused(
      "smtp; 450-4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.",
      "4.2.1",
    ),
    "bounced soft",
  ],
  [
    "Gmail, no SPF and no DKIM",
    refused(
      "smtp; 550-5.7.26 Your email has been blocked because the sender is unauthenticated. Gmail requires all senders to authenticate with either SPF or DKIM.",
      "5.7.26",
    ),
    "bounced block",
  ],
  [
    "Outlook.com, a bad reputation",
    refused(
      "smtp; 550 5.7.1 Messages from 192.0.2.9 weren't sent. Your network is on our block list (S3140).",
      "5.7.1",
    ),
    "bounced block",
  ],
  [
    "Exchange Online, no such recipient in a hybrid",
    refused("smtp;550 5.1.1 RESOLVER.ADR.ExRecipNotFound; not found", "5.1.1"),
    "bounced hard",
  ],
  [
    "Exchange Online, a loop in the hybrid",
    refused("smtp;554 5.4.14 Hop count exceeded - possible mail loop ATTR34", "5.4.14"),
    "bounced unknown",
  ],
  [
    "Exchange Online, the domain is gone",
    refused("dns;550 5.4.310 DNS domain example.com does not exist [Message=InfoDomainNonexistent]", "5.4.310"),
    "bounced hard",
  ],
  [
    "Exchange Online, the name server gave no answer",
    refused("smtp;550 5.4.312 Message expired, DNS query failed(ServerFailure)", "5.4.312"),
    "bounced soft",
  ],
  [
    "Exchange, restricted to colleagues",
    refused("smtp;550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required", "5.7.133"),
    "bounced block",
  ],
  [
    "Sendmail, the name server timed out",
    refused("X-Unix; Name server: example.com.: host name lookup failure", "4.4.3"),
    "bounced soft",
  ],
  [
    "Exim, the domain has no host, as words alone",
    plain(
      `This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n  jane@example.com\n    all relevant MX records point to non-existent hosts\n\n${returnedMail}`,
    ),
    "bounced hard",
  ],
  [
    "Exim, a look-up that did not end",
    plain(
      `A message that you sent could not be delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n  jane@example.com\n    host lookup did not complete: retry timeout exceeded\n\n${returnedMail}`,
    ),
    "bounced soft",
  ],
  [
    "Postfix, in words alone, for another host's answer",
    plain(
      `I'm sorry to have to inform you that your message could not\nbe delivered to one or more recipients. It's attached below.\n\n<jane@example.com>: host mx.example.com[192.0.2.1] said: 550 5.2.1 Mailbox\n    disabled, not accepting messages (in reply to RCPT TO command)\n\n${returnedMail}`,
    ),
    "bounced unknown",
  ],
  [
    "Postfix, a delay as DSN with a German text",
    status(
      "x-postfix; connect to mx.example.com[192.0.2.1]:25: Connection refused",
      "4.4.1",
      "Noch nicht zugestellt.",
      "delayed",
    ),
    "delayed -",
  ],
  [
    "qmail, tried for a week",
    plain(
      `Hi. This is the qmail-send program at reporter.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up.\n\n<jane@example.com>:\nConnected to 192.0.2.1 but greeting failed.\nI'm not going to try again; this message has been in the queue too long.\n\n${returnedMail}`,
    ),
    "bounced soft",
  ],
  [
    "Courier, from a name of its own",
    plain(
      `This is a delivery status notification from reporter.example, running the Courier mail server.\n\nYour message was not delivered to:\n\n<jane@example.com>:\n     mx.example.com [192.0.2.1]:\n <<< 550 5.1.1 Unknown user.\n\n${returnedMail}`,
      { from: '"Courier mail server at reporter.example" <@>' },
    ),
    "bounced hard",
  ],
  [
    "Lotus Domino, in Dutch",
    from(
      "postmaster@reporter.example",
      "Aflevering mislukt",
      "Uw bericht kon niet worden afgeleverd aan jane@example.com\n\nReden: gebruiker niet gevonden in het adresboek",
    ),
    "bounced hard",
  ],
  [
    "a gateway that sends a mail of its own and the whole mail",
    withReturnedPart(
      "Secure Mail Gateway <no-reply@gateway.example>",
      "Your message was blocked",
      "Your message to jane@example.com was blocked since it looks like spam.",
    ),
    "bounced block",
  ],
  [
    "a hosting panel, over the disk space of the account",
    refused("smtp; 550 5.7.1 The recipient's account exceeded its disk space limit", "5.7.1"),
    "bounced soft",
  ],
  [
    "T-Online, no such mailbox",
    refused("smtp; 550-5.7.0 Message considered undeliverable: no such mailbox", "5.7.0"),
    "bounced hard",
  ],
  [
    "web.de, mailbox unavailable",
    refused(
      "smtp; 550-Requested action not taken: mailbox unavailable\n 550 invalid DNS MX or A/AAAA resource record",
      "5.0.0",
    ),
    "bounced unknown",
  ],
  [
    "iCloud, over quota",
    refused("smtp; 552 5.2.2 <jane@example.com>: user is over quota (in reply to RCPT TO command)", "5.2.2"),
    "bounced soft",
  ],
  [
    "Yahoo, deferred for complaints",
    refused("smtp; 421 4.7.0 [TSS04] Messages from 192.0.2.9 temporarily deferred due to user complaints", "4.7.0"),
    "bounced soft",
  ],
  [
    "Mimecast, a recipient that is not in its list",
    refused("smtp; 550 Invalid Recipient - https://community.mimecast.com/docs/DOC-1369#550", "5.0.0"),
    "bounced hard",
  ],
  [
    "a Polish server, the domain does not exist",
    from(
      "MAILER-DAEMON@reporter.example",
      "Niedostarczona wiadomość",
      `Nie można dostarczyć wiadomości do jane@example.com: domena nie istnieje\n\n${returnedMail}`,
    ),
    "bounced hard",
  ],
  ["a Russian server, full", refused("smtp; 552 5.2.2 Ящик получателя переполнен", "5.0.0"), "bounced soft"],
  [
    "Microsoft's complaint",
    `${head("staff@hotmail.com", "complaint about message from 192.0.2.9", 'Content-Type: multipart/mixed; boundary="b1"\n')}\n--b1\nContent-Type: message/rfc822\n\nX-HmXmrOriginalRecipient: <jane@example.com>\n${returnedMail}\n\nHello\n--b1--\n`,
    "complained -",
  ],
  [
    "an out-of-office note of Exchange from nobody",
    from(
      "Jane <jane@example.com>",
      "Automatische Antwort: Hello",
      "Ich bin bis Montag nicht im Haus.",
      "Auto-Submitted: auto-generated\n",
    ),
    "no report",
  ],
  [
    "a colleague's program that says who has left",
    from(
      "Reception <reception@example.com>",
      "Jane has left us",
      "Jane Doe (jane@example.com) is no longer employed here. Please write to joe@example.com.",
    ),
    "no report",
  ],
  [
    "a ticket system with a policy below",
    from(
      "Support <support@example.com>",
      "[#4521] We have your request",
      "Your ticket 4521 was opened. Status: 450 others are waiting.\nUnsubscribe or read our policy on abuse at https://example.com/policy.",
    ),
    "no report",
  ],
  [
    "a challenge to prove that a person writes",
    from(
      "Jane <jane@example.com>",
      "Please confirm your mail",
      "Your message is on hold. Follow the link to be put on my whitelist, else it is blocked as spam.",
    ),
    "no report",
  ],
  [
    "a shop's answer in Spanish",
    from(
      "Tienda <hola@tienda.example>",
      "Gracias",
      "Hemos recibido su mensaje. Si no ve la respuesta, mire en la carpeta de spam.",
    ),
    "no report",
  ],
  [
    "a receipt that a mail was deleted unread",
    `${head("Jane <jane@example.com>", "Not read: Hello", 'Content-Type: multipart/report; report-type=disposition-notification; boundary="b1"\n')}\n--b1\nContent-Type: text/plain\n\nYour message was deleted without being read.\n--b1\nContent-Type: message/disposition-notification\n\nFinal-Recipient: rfc822; jane@example.com\nDisposition: automatic-action/MDN-sent-automatically; deleted\n--b1--\n`,
    "no report",
  ],
  [
    "a person who asks about a bounce, through a program without a sender",
    from(
      "Ann <ann@other.example>",
      "What does this mean?",
      "I wrote to bob@other.example and got: your mailbox policy says no. Can you help?",
    ),
    "no report",
  ],
  [
    "an answer with the mail quoted below, and a phone number",
    from(
      "Sales <sales@example.com>",
      "Re: Hello",
      "Thanks, we call you back from (550) 201-4477.\n\n-----Original Message-----\nFrom: Ada <ada@mail.example>\nTo: Jane <jane@example.com>\nSubject: Hello\n\nHi",
    ),
    "no report",
  ],
];

/** Replies of servers without a useful code. */
const bare = (words: string) => status(`smtp; 550 ${words}`, "5.0.0");

export const inWordsAlone: readonly Row[] = [
  ["Le destinataire n'existe pas sur ce serveur", bare("Le destinataire n'existe pas sur ce serveur"), "bounced hard"],
  [
    "adresse d au moins un destinataire invalide",
    bare("Adresse d au moins un destinataire invalide. Invalid recipient. LPN416"),
    "bounced hard",
  ],
  ["Cuenta de correo no encontrada", bare("Cuenta de correo no encontrada"), "bounced hard"],
  ["La cuenta está llena", bare("La cuenta del usuario está llena"), "bounced soft"],
  ["Casella inesistente", bare("Casella postale inesistente"), "bounced hard"],
  ["Empfängerpostfach ist voll", bare("Das Empfängerpostfach ist voll"), "bounced soft"],
  ["Die Mailbox existiert nicht", bare("Diese Mailbox existiert bei uns nicht"), "bounced hard"],
  ["Nachricht als Spam eingestuft", bare("Ihre Nachricht wurde als Spam eingestuft"), "bounced block"],
  ["De mailbox is vol", bare("De mailbox van deze gebruiker is vol"), "bounced soft"],
  ["Gebruiker bestaat niet", bare("Deze gebruiker bestaat niet"), "bounced hard"],
  ["Utilizador inexistente", bare("Utilizador inexistente"), "bounced hard"],
  ["Caixa postal lotada", bare("Caixa postal lotada"), "bounced soft"],
  ["Skrzynka odbiorcy nie istnieje", bare("Skrzynka odbiorcy nie istnieje"), "bounced hard"],
  ["Schránka neexistuje", bare("Schránka příjemce neexistuje"), "bounced hard"],
  ["A címzett nem létezik", bare("A címzett postafiókja nem létezik"), "bounced hard"],
  ["Почтовый ящик не существует", bare("Почтовый ящик не существует"), "bounced hard"],
  ["Письмо похоже на спам", bare("Ваше письмо похоже на спам"), "bounced block"],
  ["收件人的邮箱容量已满", bare("收件人的邮箱容量已满"), "bounced soft"],
  ["Tuntematon vastaanottaja", bare("Tuntematon vastaanottaja"), "bounced hard"],
  ["Brugeren findes ikke", bare("Brugeren findes ikke her"), "bounced hard"],
  ["Mottakers postboks er full", bare("Mottakerens postboks er full"), "bounced soft"],
  ["Alıcının posta kutusu dolu", bare("Alıcının posta kutusu dolu"), "bounced soft"],
  ["Utilizatorul nu există", bare("Utilizatorul nu există"), "bounced hard"],
  ["the email address has been disabled", bare("The email address has been disabled by its owner"), "bounced unknown"],
  ["account inactive", bare("Account inactive for 12 months"), "bounced unknown"],
  ["not accepting mail now", bare("The recipient is not accepting mail at this time"), "bounced unknown"],
  ["Sorry, I don't handle mail for that user", bare("Sorry, nobody here has that name"), "bounced unknown"],
  ["no mail-enabled user", bare("There is no mail-enabled subscriber with this name"), "bounced unknown"],
  ["domain has expired", bare("The domain of the recipient could not be found in DNS (NXDOMAIN)"), "bounced hard"],
  ["DMARC of the sender", bare("This mail fails the DMARC check of its From domain"), "bounced block"],
  ["DKIM signature broken", bare("Bad DKIM signature, refusing"), "bounced block"],
  ["message has too many recipients", bare("Too many recipients in this hour"), "bounced block"],
  ["attachments forbidden", bare("Files of type .exe are not allowed here"), "bounced block"],
  ["message larger than 10 MB", bare("Your mail is bigger than the 10 MB that we take"), "bounced block"],
  ["greylisted to the end", bare("Greylisting in effect, please come back later"), "bounced soft"],
  ["system too busy", bare("Our servers are very busy, try again in an hour"), "bounced soft"],
  ["user over his allotted space", bare("The user has used up the allotted disk space"), "bounced soft"],
  ["mailbox has no room", bare("There is no room left in the mailbox"), "bounced soft"],
  ["dns trouble", bare("DNS problem: the name servers of the domain time out"), "bounced soft"],
  ["could not resolve", bare("Temporary error while resolving the recipient's domain"), "bounced soft"],
  [
    "daemon, Danish words",
    from(
      "mailer-daemon@reporter.example",
      "Fejl ved levering",
      `Din mail til jane@example.com kunne ikke afleveres. Modtageren findes ikke.\n\n${returnedMail}`,
    ),
    "bounced hard",
  ],
  [
    "daemon, Czech delay",
    from(
      "mailer-daemon@reporter.example",
      "Zpráva se zpozdila",
      "Doručení zprávy pro jane@example.com bylo odloženo. Pokusíme se znovu.",
    ),
    "delayed -",
  ],
  [
    "daemon, French delay",
    from(
      "mailer-daemon@reporter.example",
      "Message retardé",
      "La remise de votre message à jane@example.com est retardée. Nous allons réessayer.",
    ),
    "delayed -",
  ],
  [
    "daemon, German delay",
    from(
      "MAILER-DAEMON@reporter.example",
      "Verzögerte Zustellung",
      "Ihre Nachricht an jane@example.com konnte noch nicht zugestellt werden. Wir versuchen es weiter.",
    ),
    "delayed -",
  ],
];

const st = (words: string, code: string, reply = 550) => status(`smtp; ${reply} ${words}`, code);

export const confusing: readonly Row[] = [
  ["sender user unknown", st("5.7.1 <ada@mail.example>: Sender user unknown here", "5.7.1"), "bounced block"],
  ["helo host not found", st("5.7.1 Client host rejected: cannot find your hostname", "5.7.1"), "bounced block"],
  ["helo not found", st("5.7.1 <mail.example>: Helo command rejected: Host not found", "5.7.1"), "bounced block"],
  ["ptr", st("5.7.25 The IP address sending this message does not have a PTR record", "5.7.25"), "bounced block"],
  ["quota of the sender", st("5.7.1 You have exceeded your hourly sending quota", "5.7.1"), "bounced block"],
  [
    "over quota with link",
    st(
      "5.2.2 The email account that you tried to reach is over quota. Please direct the recipient to https://support.google.com/mail/?p=OverQuotaPerm",
      "5.2.2",
      552,
    ),
    "bounced soft",
  ],
  ["no such user, 5.7.1, mail.ru", st("5.7.1 No such user here", "5.7.1"), "bounced hard"],
  ["policy and user unknown", st("5.7.1 Rejected by policy: user unknown", "5.7.1"), "bounced block"],
  [
    "mailbox unavailable 5.7.1 with IP",
    st("5.7.1 Service unavailable; Client host [192.0.2.9] blocked using Spamhaus", "5.7.1"),
    "bounced block",
  ],
  ["mailbox unavailable bare", st("5.2.1 mailbox unavailable", "5.2.1"), "bounced unknown"],
  ["mailbox unavailable or access denied", st("5.7.1 Mailbox unavailable or access denied", "5.7.1"), "bounced block"],
  ["5.4.4 unable to route", st("5.4.4 unable to route: no mail hosts for domain", "5.4.4"), "bounced hard"],
  ["5.4.4 bare", st("5.4.4", "5.4.4"), "bounced soft"],
  ["4.4.1 with no such user", st("4.4.1 no such user at the moment", "4.4.1", 451), "bounced soft"],
  ["EAI_AGAIN", st("Temporary failure in name resolution", "5.4.0"), "bounced soft"],
  ["nullMX", st("5.1.10 Recipient address has null MX", "5.1.10", 556), "bounced hard"],
  ["over space german", st("5.2.3 Die Nachricht ist größer als erlaubt", "5.2.3", 552), "bounced block"],
  ["disabled gmail", st("5.2.1 The email account that you tried to reach is inactive", "5.2.1"), "bounced unknown"],
  ["moved", st("5.1.6 The recipient has moved to another provider", "5.1.6", 551), "bounced hard"],
  ["rate", st("4.7.28 Gmail has detected an unusual rate of mail", "4.7.28", 421), "bounced soft"],
  ["user suspended", st("5.7.1 The account is suspended for a breach of our terms", "5.7.1"), "bounced block"],
  [
    "autoresponder, null, Japanese",
    from(
      "info@shop.example",
      "お問い合わせありがとうございます",
      "担当者より折り返しご連絡いたします。迷惑メールフォルダもご確認ください。",
    ),
    "no report",
  ],
  [
    "autoresponder quoting and phone",
    from("Kim <kim@other.example>", "Abwesend", "Ich bin weg. Jane (jane@example.com) vertritt mich, Tel. 0555 5.1.1"),
    "no report",
  ],
  [
    "vacation via list owner, English",
    from(
      "owner-list@example.com",
      "Your message awaits moderator approval",
      "Is being held until the list moderator can review it. Reason: Post by non-member.",
    ),
    "no report",
  ],
  [
    "left the company null, names recipient",
    from(
      "HR <hr@example.com>",
      "Jane Doe",
      "jane@example.com has left the company. The mailbox does not exist any more.",
    ),
    "no report",
  ],
  [
    "left with quote of plain mail",
    from(
      "HR <hr@example.com>",
      "Jane Doe",
      "jane@example.com has left the company.\n\n> Hi Jane,\n> 550 users are waiting",
    ),
    "no report",
  ],
  [
    "postmaster's words, old Exchange German",
    from(
      "Systemadministrator <postmaster@reporter.example>",
      "Unzustellbar: Hello",
      "Ihre Nachricht hat einige oder alle Empfänger nicht erreicht.\n\n  jane@example.com am 21.03.2026 10:06\n    Das E-Mail-Konto ist in der Organisation nicht vorhanden.",
    ),
    "bounced hard",
  ],
  [
    "MDaemon",
    from(
      "MDaemon at reporter.example <MDaemon@reporter.example>",
      "MDaemon Warning - delayed delivery",
      "The following message to jane@example.com is delayed and will be retried.",
    ),
    "delayed -",
  ],
  [
    "mailerdaemon variant",
    from(
      "Mail Deliver System <mailer_daemon@reporter.example>",
      "Undeliverable",
      "Delivery to jane@example.com failed: unknown recipient",
    ),
    "bounced hard",
  ],
  [
    "Amavis, virus, null",
    from(
      "Content-filter at reporter.example <postmaster@reporter.example>",
      "VIRUS in mail",
      "A virus was found in your mail to jane@example.com; delivery was stopped.",
    ),
    "bounced block",
  ],
];
