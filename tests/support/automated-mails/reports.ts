import { rowsOf } from "./row.ts";

const dsn = 'Content-Type: multipart/report; report-type=delivery-status; boundary="b1"';

/** Reports of mail servers about failed and delayed mail. */
export const deliveryReports = rowsOf("delivery_report", [
  [
    "Postfix, undeliverable",
    "RFC 3464 report",
    "",
    [
      "From: MAILER-DAEMON@mail.example.com (Mail Delivery System)",
      "Subject: Undelivered Mail Returned to Sender",
      "Auto-Submitted: auto-replied",
      'Content-Type: multipart/report; report-type=delivery-status;\r\n\tboundary="6E2F1.1711015500/mail.example.com"',
    ],
  ],
  [
    "Postfix, delayed",
    "a warning is a report too",
    "",
    [
      "From: MAILER-DAEMON@mail.example.com (Mail Delivery System)",
      "Subject: Delayed Mail (still being retried)",
      "Auto-Submitted: auto-replied",
      dsn,
    ],
  ],
  [
    "Sendmail",
    "report, and says so in Auto-Submitted too",
    "",
    [
      "From: Mail Delivery Subsystem <MAILER-DAEMON>",
      "Subject: Returned mail: see transcript for details",
      "Auto-Submitted: auto-generated (failure)",
      'Content-Type: multipart/report; report-type=delivery-status;\r\n\tboundary="q2LA5.1711/mx.example.com"',
    ],
  ],
  [
    "Sendmail, warning after four hours",
    "report",
    "",
    [
      "From: Mail Delivery Subsystem <MAILER-DAEMON@mx.example.com>",
      "Subject: Warning: could not send message for past 4 hours",
      "Auto-Submitted: auto-generated (warning-timeout)",
      dsn,
    ],
  ],
  [
    "Exim before 4.87",
    "plain text with X-Failed-Recipients",
    "",
    [
      "X-Failed-Recipients: bob@example.com",
      "Auto-Submitted: auto-replied",
      "From: Mail Delivery System <Mailer-Daemon@mail.example.com>",
      "Subject: Mail delivery failed: returning message to sender",
    ],
  ],
  [
    "Exim today",
    "report and X-Failed-Recipients",
    "",
    [
      "X-Failed-Recipients: bob@example.com",
      "Auto-Submitted: auto-replied",
      "From: Mail Delivery System <Mailer-Daemon@mail.example.com>",
      "Content-Type: multipart/report; report-type=delivery-status; boundary=1711015500-eximdsn-804289383",
      "Subject: Mail delivery failed: returning message to sender",
    ],
  ],
  [
    "Exim, delayed",
    "from the mail server, without a reverse path",
    "",
    [
      "Auto-Submitted: auto-replied",
      "From: Mail Delivery System <Mailer-Daemon@mail.example.com>",
      "Subject: Warning: message 1rnX3k-0005 delayed 24 hours",
    ],
  ],
  ["qmail", "no MIME, no sign but its sender", "", ["From: MAILER-DAEMON@example.com", "Subject: failure notice"]],
  [
    "qmail, double bounce",
    "its reverse path is #@[], so that its own bounce is seen",
    "#@[]",
    ["From: MAILER-DAEMON@example.com", "Subject: failure notice"],
    { kind: null, why: "goes to the postmaster of qmail itself and never leaves it; the path is no null one" },
  ],
  [
    "Exchange Online",
    "report",
    "",
    [
      "From: <postmaster@contoso.onmicrosoft.com>",
      'Content-Type: multipart/report; report-type=delivery-status;\r\n boundary="15ba7bf9-7d2c-4d2e-9b0a-4e5ba2b9cb2c"',
      "Content-Language: en-US",
      "In-Reply-To: <q1@inbox.localhost>",
      "Subject: Undeliverable: Hello",
      "Auto-Submitted: auto-replied",
      "X-MS-Exchange-Message-Is-Ndr:",
    ],
  ],
  [
    "Exchange 2010, German",
    "report of a server in another language",
    "",
    [
      "From: Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@firma.example>",
      "Subject: =?iso-8859-1?Q?Unzustellbar=3A_Gr=FC=DFe?=",
      dsn,
    ],
  ],
  [
    "Exchange, delayed",
    "report",
    "",
    [
      "From: Microsoft Outlook <MicrosoftExchange329e71@contoso.example>",
      "Subject: Delivery delayed:Hello",
      dsn,
      "X-Auto-Response-Suppress: All",
    ],
  ],
  [
    "Gmail",
    "report, with X-Failed-Recipients",
    "",
    [
      "From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>",
      "Auto-Submitted: auto-replied",
      "Subject: Delivery Status Notification (Failure)",
      "References: <q1@inbox.localhost>",
      "In-Reply-To: <q1@inbox.localhost>",
      "X-Failed-Recipients: bob@gmail.com",
      'Content-Type: multipart/report; boundary="0000000000008f"; report-type=delivery-status',
    ],
  ],
  [
    "Courier",
    "report whose parameter is in quotes",
    "",
    [
      'From: "Courier mail server at mail.example.com" <@>',
      "Subject: NOTICE: mail delivery status.",
      'Content-Type: multipart/report; report-type="delivery-status"; boundary="=_courier-0"',
    ],
  ],
  [
    "Domino",
    "report in capitals",
    "",
    [
      "From: Postmaster@notes.example",
      "Subject: DELIVERY FAILURE: User bob (bob@notes.example) not listed in Domino Directory",
      'Content-Type: MULTIPART/REPORT; REPORT-TYPE=DELIVERY-STATUS; BOUNDARY="==IFJRGLKFGIR60132UHRUHIHD"',
    ],
  ],
  [
    "GroupWise",
    "an own form: only its sender and the empty path tell",
    "",
    ["From: Mailer-Daemon@novell.example", "Subject: Message status - undeliverable"],
  ],
  [
    "CommuniGate Pro",
    "report",
    "",
    ["From: MAILER-DAEMON@cgp.example", "Subject: Undeliverable mail: Hello", dsn, "X-Mailer: CommuniGate Pro MAIL"],
  ],
  [
    "MDaemon",
    "from postmaster, without a reverse path",
    "",
    [
      "From: Postmaster@mdaemon.example",
      "Subject: Warning: bob@mdaemon.example - User unknown!",
      "X-MDaemon-Deliver-To: ada@inbox.localhost",
      "Precedence: bulk",
    ],
  ],
  [
    "hMailServer",
    "plain text from the mail server",
    "",
    ["From: mailer-daemon@hmail.example", "Subject: Message undeliverable: Hello"],
  ],
  [
    "Yahoo",
    "report",
    "",
    [
      "From: MAILER-DAEMON@yahoo.com",
      "Subject: Failure Notice",
      "X-Yahoo-Newman-Property: bmbounce",
      "Content-Type: text/plain",
    ],
  ],
  [
    "iCloud",
    "report",
    "",
    [
      "From: Mail Delivery System <MAILER-DAEMON@icloud.com>",
      "Subject: Undelivered Mail Returned to Sender",
      "Auto-Submitted: auto-replied",
      dsn,
    ],
  ],
  [
    "Mail.ru",
    "report",
    "",
    [
      "From: mailer-daemon@corp.mail.ru",
      "Subject: Mail failure.",
      "X-Failed-Recipients: bob@mail.ru",
      "Auto-Submitted: auto-replied",
    ],
  ],
  [
    "Yandex",
    "report in Russian",
    "",
    [
      "From: mailer-daemon@yandex.ru",
      "Subject: =?utf-8?B?0J3QtdC00L7RgdGC0LDQstC70LXQvdC90L7QtSDRgdC+0L7QsdGJ0LXQvdC40LU=?=",
      dsn,
    ],
  ],
  [
    "QQ Mail",
    "from PostMaster, without a reverse path",
    "",
    ["From: PostMaster@qq.com", "Subject: =?utf-8?B?57O757uf6YCA5L+h?=", "Content-Type: text/html; charset=utf-8"],
  ],
  [
    "NetEase",
    "from Postmaster with a name",
    "",
    ['From: "Postmaster" <Postmaster@163.com>', "Subject: =?gbk?B?z7XNs83L0MU=?="],
  ],
  [
    "Amazon SES",
    "report, with a reverse path of its own domain",
    "",
    [
      "From: MAILER-DAEMON@eu-west-1.amazonses.com",
      "Subject: Delivery Status Notification (Failure)",
      dsn,
      "X-SES-Outgoing: 2026.03.21-54.240.3.1",
    ],
  ],
  [
    "Mimecast",
    "report from a postmaster with a path that is not empty",
    "postmaster@mimecast.example",
    [
      "From: postmaster@mimecast.example",
      "Subject: [Postmaster] Email Delivery Failure",
      'Content-Type: multipart/report; boundary="b1"; report-type="delivery-status"',
      "Auto-Submitted: auto-generated",
    ],
  ],
  [
    "Barracuda",
    "report",
    "",
    [
      "From: MAILER-DAEMON@barracuda.example (Mail Delivery System)",
      "Subject: **Message you sent blocked by our bulk email filter**",
      dsn,
    ],
  ],
  [
    "OpenSMTPD",
    "report",
    "",
    [
      "From: Mailer Daemon <MAILER-DAEMON@bsd.example>",
      "Subject: Delivery status notification: error",
      'Content-Type: multipart/report; report-type=delivery-status;boundary="1711015500/bsd.example"',
    ],
  ],
  [
    "James",
    "from postmaster, without a reverse path",
    "",
    ["From: postmaster@james.example", "Subject: Re: Hello", 'Content-Type: multipart/mixed; boundary="b1"'],
  ],
  [
    "a server of internationalised mail",
    "a report by RFC 6533 has the same type",
    "",
    [
      "From: MAILER-DAEMON@xn--mgbh0fb.example",
      "Subject: Undelivered Mail Returned to Sender",
      'Content-Type: multipart/report; report-type=delivery-status; charset=utf-8; boundary="b1"',
    ],
  ],
  [
    "a parameter in pieces",
    "RFC 2231 §3 lets any parameter be split",
    "",
    [
      "From: Mail <noreply@odd.example>",
      "Subject: Not delivered",
      "Content-Type: multipart/report; report-type*0=delivery;\r\n report-type*1=-status; boundary=b1",
    ],
  ],
  [
    "delivered",
    "RFC 3464 says that a mail has arrived as well",
    "",
    ["From: MAILER-DAEMON@mail.example.com", "Subject: Successful Mail Delivery Report", dsn],
  ],
]);

export const otherReports = [
  ...rowsOf("disposition_report", [
    [
      "Outlook, read",
      "RFC 8098 report",
      "",
      [
        "From: Bob <bob@contoso.example>",
        "Subject: Read: Hello",
        'Content-Type: multipart/report; report-type=disposition-notification; boundary="b1"',
        "In-Reply-To: <q1@inbox.localhost>",
      ],
    ],
    [
      "Outlook, deleted unread, German",
      "the same report, another subject",
      "",
      [
        "From: Bob <bob@firma.example>",
        "Subject: Nicht gelesen: Hallo",
        'Content-Type: multipart/report; boundary="b1";\r\n\treport-type="disposition-notification"',
      ],
    ],
    [
      "Thunderbird",
      "report, with a reverse path",
      "bob@example.com",
      [
        "From: Bob <bob@example.com>",
        "Subject: Return Receipt (displayed) - Hello",
        'Content-Type: multipart/report; report-type=disposition-notification;\r\n boundary="mdn1"',
      ],
    ],
    [
      "Notes",
      "report",
      "bob@notes.example",
      [
        "From: Bob/Example",
        "Subject: Return Receipt",
        'Content-type: multipart/report; Report-Type=disposition-notification; Boundary="b1"',
      ],
    ],
    [
      "Gmail of a company",
      "report",
      "bob@corp.example",
      [
        "From: Bob <bob@corp.example>",
        "Subject: Read: Hello",
        'Content-Type: multipart/report; boundary="0000"; report-type="disposition-notification"',
        "Auto-Submitted: auto-replied",
      ],
    ],
  ]),
  ...rowsOf("complaint_report", [
    [
      "Yahoo",
      "RFC 5965 report",
      "complaints@arf.mail.yahoo.com",
      [
        "From: Yahoo! Mail AntiSpam Feedback <feedback@arf.mail.yahoo.com>",
        "Subject: FW: Hello",
        'Content-Type: multipart/report; boundary="b1"; report-type=feedback-report',
      ],
    ],
    [
      "Comcast",
      "report",
      "feedbackloop@comcastfbl.senderscore.net",
      [
        "From: Comcast FBL <feedbackloop@comcastfbl.senderscore.net>",
        "Subject: Comcast Abuse Report",
        'Content-Type: multipart/report; report-type=feedback-report;\r\n boundary="b1"',
      ],
    ],
    [
      "an abuse desk",
      "report, automatic as well",
      "autogenerated@blocklist.example",
      [
        "From: autogenerated@blocklist.example",
        "Subject: abuse report about 192.0.2.1",
        "Auto-Submitted: auto-generated",
        "Precedence: bulk",
        'Content-Type: multipart/report; report-type="feedback-report"; boundary="b1"',
      ],
    ],
    [
      "Hotmail (JMRP)",
      "a complaint in a form of its own",
      "staff@hotmail.com",
      [
        "From: staff@hotmail.com",
        "Subject: complaint about message from 192.0.2.1",
        'Content-Type: multipart/mixed; boundary="b1"',
        "X-HmXmrOriginalRecipient: bob@hotmail.com",
      ],
      { kind: null, why: "says nothing of itself but a field that nobody else has" },
    ],
  ]),
];
