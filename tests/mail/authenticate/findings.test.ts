import { describe, expect, test } from "bun:test";
import { authenticated, recordsIn, remembering } from "../../support/authenticating.ts";
import { mailOf } from "../../support/mail.ts";

const policy = "_dmarc.example.com TXT v=DMARC1; p=reject";
const listed = `${policy}\nexample.com TXT v=spf1 ip4:192.0.2.0/24 -all`;

/** A service that gets mail of several senders, and the questions that reach its name server. */
function serviceWith(zone: string) {
  const asked: string[] = [];
  let records = recordsIn(zone);
  const { forget, ...dns } = remembering((name, type, signal) => {
    asked.push(`${type} ${name}`);
    return records(name, type, signal);
  });
  /** The verdict about a mail with `From: jane@example.com`, and the result of SPF. */
  async function receive(from = "jane@example.com", address = "192.0.2.9"): Promise<string> {
    const raw = mailOf({ from: "jane@example.com" });
    const { verdict, spf } = await authenticated(raw, "", { from, client: { address }, options: dns });
    return `${verdict}, SPF ${spf.result}`;
  }
  return {
    receive,
    /** The records that are asked for from now on. */
    publish(changed: string) {
      records = recordsIn(changed);
    },
    forget,
    asked,
  };
}

describe("a finding about an earlier mail", () => {
  test("counts for the next mail of the same host and domain, without a question", async () => {
    const { receive, publish, asked } = serviceWith(listed);
    expect(await receive()).toBe("pass, SPF pass");
    const { length } = asked;
    publish("");
    expect(await receive()).toBe("pass, SPF pass");
    expect(await receive("bounce@example.com")).toBe("pass, SPF pass");
    expect(asked).toHaveLength(length);
  });

  test("counts for no other host or domain", async () => {
    const { receive } = serviceWith(listed);
    expect(await receive()).toBe("pass, SPF pass");
    expect(await receive("jane@example.com", "203.0.113.1")).toBe("fail, SPF fail");
    expect(await receive("jane@sub.example.com")).toBe("fail, SPF none");
  });

  const changes: [string, string, string, string][] = [
    ["its SPF record", "TXT example.com", `${policy}\nexample.com TXT v=spf1 -all`, "fail, SPF fail"],
    ["its policy", "TXT _dmarc.example.com", "", "pass, SPF pass"],
  ];
  test.each(changes)("ends with %s", async (_what, question, changed, expected) => {
    const { receive, publish, forget, asked } = serviceWith(listed);
    await receive();
    publish(changed);
    expect(await receive()).toBe("pass, SPF pass");
    const { length } = asked;
    forget(question);
    expect(await receive()).toBe(expected);
    expect(asked.slice(length)).toEqual([question]);
  });

  test("ends with a record that it includes", async () => {
    const zone = `${policy}\nexample.com TXT v=spf1 include:a.example -all`;
    const { receive, publish, forget } = serviceWith(`${zone}\na.example TXT v=spf1 ip4:192.0.2.9 -all`);
    expect(await receive()).toBe("pass, SPF pass");
    publish(`${zone}\na.example TXT v=spf1 ip4:203.0.113.1 -all`);
    forget("TXT a.example");
    expect(await receive()).toBe("fail, SPF fail");
  });

  test("does not count if the record names the sender by a macro", async () => {
    const zone = `${policy}\nexample.com TXT v=spf1 exists:%{l}.example.com -all\njane.example.com A 127.0.0.2`;
    const { receive } = serviceWith(zone);
    expect(await receive("jane@example.com")).toBe("pass, SPF pass");
    expect(await receive("joe@example.com")).toBe("fail, SPF fail");
    expect(await receive("jane@example.com")).toBe("pass, SPF pass");
  });

  test("does not count if the DNS did not answer", async () => {
    const { receive, publish, forget } = serviceWith(`${policy}\nexample.com TXT TIMEOUT`);
    expect(await receive()).toBe("temperror, SPF temperror");
    publish(listed);
    forget("TXT example.com");
    expect(await receive()).toBe("pass, SPF pass");
  });
});
