import { expect, test } from "bun:test";
import { shownRecords, wantedRecords, zoneFile } from "../../../src/domain/domains/records.ts";

const names = { mailDomain: "inbox.us.example", smtpHostname: "mx.us.example" };
const key = { selector: "ibx-7k2m9q4t", state: "active", publicKey: "A".repeat(300), retiresAt: null } as const;
const domain = { name: "mail.example.com", returnPath: "bounces", subdomains: true };

test("the records of a domain, with the host that a form asks for", () => {
  const wanted = wantedRecords(domain, [key], names);
  expect(
    shownRecords(wanted, { zone: "example.com", recordsSeen: [] }).map((each) => Object.values(each).slice(0, 7)),
  ).toEqual([
    [
      "dkim",
      true,
      "TXT",
      "ibx-7k2m9q4t._domainkey.mail.example.com",
      `v=DKIM1; k=rsa; p=${key.publicKey}`,
      null,
      "ibx-7k2m9q4t._domainkey.mail",
    ],
    ["mx", false, "MX", "mail.example.com", "mx.us.example", 10, "mail"],
    ["mx", false, "MX", "*.mail.example.com", "mx.us.example", 10, "*.mail"],
    ["return_path", false, "CNAME", "bounces.mail.example.com", "inbox.us.example", null, "bounces.mail"],
    ["dmarc", false, "TXT", "_dmarc.mail.example.com", "v=DMARC1; p=none", null, "_dmarc.mail"],
  ]);
  const hosts = (zone: string | null) => shownRecords(wanted, { zone, recordsSeen: [] }).map(({ host }) => host);
  expect(hosts("mail.example.com")[1]).toBe("@");
  expect(hosts(null)[1]).toBeNull();
});

test("a record shows what was found, and what to do", () => {
  const retiring = {
    ...key,
    selector: "ibx-00000000",
    state: "retiring",
    retiresAt: new Date("2026-03-28T10:00:00Z"),
  } as const;
  const wanted = wantedRecords(domain, [retiring, key], names);
  const recordsSeen = [
    { purpose: "mx", name: "mail.example.com", status: "invalid", problem: "other_server", found: ["5 mx.other."] },
    { purpose: "return_path", name: "bounces.mail.example.com", status: "missing", problem: null, found: [] },
  ] as const;
  const [active, old, mx, , path, dmarc] = shownRecords(wanted, { zone: null, recordsSeen });
  expect(active).toMatchObject({ status: "unchecked", hint: null, found: [] });
  expect(old).toMatchObject({ required: false, hint: expect.stringContaining("until 2026-03-28") });
  expect(mx).toMatchObject({ status: "invalid", problem: "other_server", found: ["5 mx.other."] });
  expect(mx?.hint).toContain("take a subdomain");
  expect(path?.hint).toContain("No record was found");
  expect(dmarc?.hint).toBeNull();
});

test("the zone file has strings of at most 255 characters", () => {
  const [dkim, mx, any, path] = zoneFile(wantedRecords(domain, [key], names)).split("\n");
  expect(dkim).toMatch(/^ibx-7k2m9q4t\._domainkey\.mail\.example\.com\. 3600 IN TXT "v=DKIM1; [^"]{246}" "A{63}"$/);
  expect(mx).toBe("mail.example.com. 3600 IN MX 10 mx.us.example.");
  expect(any).toBe("*.mail.example.com. 3600 IN MX 10 mx.us.example.");
  expect(path).toBe("bounces.mail.example.com. 3600 IN CNAME inbox.us.example.");
});
