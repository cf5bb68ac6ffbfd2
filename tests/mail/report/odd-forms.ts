import { daemon, dsn, head, plain, type Row, returnedMail } from "./fixtures.ts";

/** Reports in no standard format, about `<m1@mail.example>` to jane@example.com if they name a mail. */
export const oddForms: readonly Row[] = [
  [
    "old Sendmail, a session that gave up by another host's time",
    plain(
      `   ----- Transcript of session follows -----\nWhile talking to mx.example.com:\n>>> RCPT To:<jane@example.com>\n<<< 550 <jane@example.com>, User Unknown\n550 <jane@example.com>... User unknown\n421 example.com (smtp)... Deferred: Connection timed out\n\n   ----- Unsent message follows -----\n${returnedMail}\n\nHello\n`,
    ).replace("failure notice", "Returned mail: Deferred: Connection timed out"),
    "bounced hard",
  ],
  [
    "old Sendmail, late to the end",
    plain(
      `   ----- Transcript of session follows -----\n421 example.com (smtp)... Deferred: Connection timed out\n\nTo: jane@example.com\n`,
    ).replace("failure notice", "Returned mail: Cannot send message for 5 days"),
    "bounced soft",
  ],
  [
    "a gateway that sets in a few fields of the mail above what it has to say",
    plain(
      "Your mail:\n   From:    ada@mail.example\n   Subject: No spam, no virus\n\nwas not delivered, since\n\n550 5.1.1 User unknown\n\nThis was about:\n    jane@example.com\n",
    ),
    "bounced hard",
  ],
  [
    "a gateway that tells the commands of the session below",
    plain(
      "Error: wrong user\n\nThe server said:\n  550 - Requested action not taken: no such user here\n\nThe mail:\n  MAIL FROM: ada@mail.example\n  RCPT TO: jane@example.com\n  Lines: 2\n",
    ),
    "bounced hard",
  ],
  [
    "a head that a server broke without white space",
    plain(
      `Your mail came back. This address failed:\n\n"jane@example.com":\nUser unknown\n\n--- The header of the original message is following. ---\n\n${returnedMail.replace(" by relay.example;", " by relay.example (with\nHTTP and more); on")}\n`,
    ),
    "bounced hard",
  ],
  [
    "a head that is hung on as a text",
    `${head(daemon, "Error in your mail", 'Auto-Submitted: auto-replied\nContent-Type: multipart/mixed; boundary="b1"\n')}\n--b1\nContent-Type: text/plain\n\njane@example.com: [554 5.1.1 User unknown]\n\n--b1\nContent-Type: text/plain; name="head.txt"\nContent-Disposition: attachment; filename="head.txt"\n\n${returnedMail}\n--b1--\n`,
    "bounced hard",
  ],
  [
    "an address at the end of the line",
    plain(`Your mail could not go to: <jane@example.com>\nAs their mailbox is full.\n\n${returnedMail}\n`),
    "bounced soft",
  ],
  [
    "an address with itself in brackets behind it",
    plain(
      `  ----- Fatal errors -----\n\n>>> jane@example.com <jane@example.com>\n\n550 5.1.1 sorry\n\n${returnedMail}\n`,
    ),
    "bounced hard",
  ],
  [
    "Notes, not in a public book",
    plain(`--- Reasons ---\n\nUser  not listed in public Address Book\njane@example.com\n\n${returnedMail}\n`),
    "bounced hard",
  ],
  ["Notes, Japanese", plain("--- Reasons ---\n\nディレクトリのリストにありません\njane@example.com\n"), "bounced hard"],
  [
    "Japanese, to check the address and send again",
    plain("このアドレスは見つかりませんでした。\nご確認の上、再送信してください。\n\n<jane@example.com>\n"),
    "bounced hard",
  ],
  [
    "Gmail, to check the address and try again",
    dsn({
      text: "** Address not found **\n\nThe address jane@example.com couldn't be found. Check it for typos and try again.",
      fields: "Final-Recipient: rfc822; jane@example.com\nAction: failed\nStatus: 5.0.0",
    }),
    "bounced hard",
  ],
  [
    "Gmail, no connection",
    plain(
      `It failed permanently:\n\n     jane@example.com\n\nThe recipient server did not accept our requests to connect.\n\n----- Original message -----\n\n${returnedMail}\n`,
    ),
    "bounced soft",
  ],
];
