import { rowsOf } from "./row.ts";

/** Notifications of services. */
export const notifications = rowsOf("notification", [
  [
    "cron",
    "Auto-Submitted",
    "root@host.example",
    [
      "From: root@host.example (Cron Daemon)",
      "Subject: Cron <root@host> /usr/bin/backup",
      "Auto-Submitted: auto-generated",
      "Precedence: normal",
      "X-Cron-Env: <SHELL=/bin/sh>",
    ],
  ],
  [
    "Jenkins",
    "Auto-Submitted",
    "jenkins@ci.example",
    [
      "From: jenkins@ci.example",
      "Subject: Build failed in Jenkins: a #1",
      "Auto-Submitted: auto-generated",
      "X-Jenkins-Job: a",
    ],
  ],
  [
    "Zendesk",
    "both fields",
    "support@zendesk.example",
    [
      "From: Help <support@zendesk.example>",
      "Subject: [Request received] Hello",
      "Auto-Submitted: auto-generated",
      "X-Auto-Response-Suppress: All",
      "X-Mailer: Zendesk Mailer",
    ],
  ],
  [
    "Bugzilla",
    "X-Auto-Response-Suppress",
    "bugzilla-daemon@bugs.example",
    [
      "From: bugzilla-daemon@bugs.example",
      "Subject: [Bug 1] Hello",
      "X-Bugzilla-Type: changed",
      "X-Auto-Response-Suppress: All",
      "Auto-Submitted: auto-generated",
    ],
  ],
  [
    "Redmine",
    "both fields",
    "redmine@example.com",
    [
      "From: redmine@example.com",
      "Subject: [p - Bug #1] Hello",
      "X-Mailer: Redmine",
      "Auto-Submitted: auto-generated",
      "X-Auto-Response-Suppress: All",
    ],
  ],
  [
    "Confluence",
    "Auto-Submitted",
    "confluence@example.com",
    [
      "From: Jane (Confluence) <confluence@example.com>",
      "Subject: [Confluence] A page",
      "Auto-Submitted: auto-generated",
      "X-ConfluenceName: Page",
    ],
  ],
  [
    "Nextcloud",
    "Auto-Submitted",
    "cloud@example.com",
    ["From: Cloud <cloud@example.com>", "Subject: Jane shared a file", "Auto-Submitted: auto-generated"],
  ],
  [
    "Nagios by a mailer that knows RFC 3834",
    "Auto-Submitted",
    "nagios@example.com",
    [
      "From: nagios@example.com",
      "Subject: ** PROBLEM Host Alert: a is DOWN **",
      "Auto-Submitted: auto-generated; type=alert",
    ],
  ],
  [
    "Exchange, a rule that tells",
    "Auto-Submitted of another kind",
    "sender@contoso.example",
    [
      "From: Alerts <sender@contoso.example>",
      "Subject: A rule has matched",
      "Auto-Submitted: auto-notified; owner-email=bob@contoso.example",
    ],
  ],
  [
    "Exchange, a forwarded meeting",
    "X-Auto-Response-Suppress",
    "bob@contoso.example",
    [
      "From: Bob <bob@contoso.example>",
      "Subject: Meeting Forward Notification: Hello",
      "X-Auto-Response-Suppress: DR, OOF, AutoReply",
      "Content-Class: urn:content-classes:meetingforwardnotification",
    ],
  ],
  [
    "Exchange, quarantine",
    "X-Auto-Response-Suppress",
    "quarantine@messaging.example",
    ["From: quarantine@messaging.example", "Subject: You have messages in quarantine", "X-Auto-Response-Suppress: OOF"],
  ],
  [
    "Discourse, a code to sign in",
    "both fields",
    "forum@discourse.example",
    [
      "From: Forum <forum@discourse.example>",
      "Subject: [Forum] Log in via link",
      "Auto-Submitted: auto-generated",
      "X-Auto-Response-Suppress: All",
    ],
  ],
  [
    "Keycloak behind a server that leaves the path empty",
    "no reverse path",
    "",
    ["From: Login <noreply@sso.example>", "Subject: Verify email"],
  ],
  [
    "Matrix",
    "both fields",
    "matrix@example.com",
    [
      "From: Matrix <matrix@example.com>",
      "Subject: Verify your address",
      "Auto-Submitted: auto-generated",
      "X-Auto-Response-Suppress: All",
    ],
  ],
  [
    "Mastodon",
    "both fields",
    "social@example.com",
    [
      "From: Social <social@example.com>",
      "Subject: Jane mentioned you",
      "Auto-Submitted: auto-generated",
      "X-Auto-Response-Suppress: All",
    ],
  ],
  [
    "Sentry",
    "both fields",
    "noreply@sentry.example",
    [
      "From: Sentry <noreply@sentry.example>",
      "Subject: [p] Error",
      "Auto-Submitted: auto-generated",
      "X-Auto-Response-Suppress: All",
      "X-Sentry-Project: p",
    ],
  ],
  [
    "smartd",
    "Auto-Submitted by its mailer",
    "root@host.example",
    ["From: root <root@host.example>", "Subject: SMART error detected", "Auto-Submitted: auto-generated"],
  ],
  [
    "another inboxd",
    "autoSubmitted: auto-generated",
    "bot@agents.example",
    [
      "From: bot@agents.example",
      "Subject: Report",
      "Auto-Submitted: auto-generated",
      "X-Auto-Response-Suppress: OOF, AutoReply",
    ],
  ],
  [
    "Stripe, a receipt",
    "a robot that says so nowhere",
    "bounce@stripe.example",
    [
      "From: Shop <receipts@stripe.example>",
      "Subject: Your receipt",
      "X-Stripe-EID: em_1",
      "Feedback-ID: 1:acct:stripe",
    ],
    { kind: null, why: "nothing in it says so; the address is no sign, people write from such too" },
  ],
  [
    "Google, a security alert",
    "its address says that nobody reads answers",
    "3abc@gaia.bounces.google.com",
    [
      "From: Google <no-reply@accounts.google.com>",
      "Subject: Security alert",
      "X-Notifications: 1",
      "Feedback-ID: 1:account-notifier",
    ],
  ],
  [
    "a DMARC report",
    "its address says that nobody reads answers",
    "noreply-dmarc@google.example",
    [
      "From: noreply-dmarc-support@google.example",
      "Subject: Report domain: inbox.localhost Submitter: google.com Report-ID: 1",
      'Content-Type: application/zip; name="a.zip"',
    ],
  ],
]);
