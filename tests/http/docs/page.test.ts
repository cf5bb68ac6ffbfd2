import { describe, expect, test } from "bun:test";
import { docsPage, guidePage } from "../../../src/http/docs/page.ts";
import type { Document } from "../../../src/http/docs/reference.ts";

const box = {
  type: "object",
  required: ["id"],
  properties: {
    id: { type: "string", description: "Its `id` <b>" },
    lid: { anyOf: [{ $ref: "#/components/schemas/Lid" }, { type: "null" }] },
    sizes: { type: "array", items: { type: "integer" }, maxItems: 2000 },
  },
};

const document: Document = {
  tags: [{ name: "Boxes", description: "What *holds*" }, { name: "Threads" }],
  security: [{ apiKey: [] }],
  paths: {
    "/v1/boxes/{id}": {
      delete: operation("deleteBox", "Boxes"),
      get: {
        ...operation("getBox", "Boxes"),
        responses: { 200: { content: { "application/json": { schema: ref("Box") } } } },
      },
    },
    "/v1/boxes": {
      get: operation("listBoxes", "Boxes"),
      post: {
        ...operation("createBox", "Boxes"),
        requestBody: {
          content: {
            "application/json": {
              schema: { ...box, properties: { ...box.properties, id: { type: "string", examples: ["b1"] } } },
            },
          },
        },
      },
    },
    "/v1/threads/{id}": { get: operation("getThread", "Threads") },
    "/healthz": { get: { ...operation("healthCheck", "Other"), security: [] } },
  },
  webhooks: {
    "box.made": {
      post: {
        ...operation("boxMade", "Events"),
        description: "A box was made",
        requestBody: { content: { "application/json": { schema: ref("Box"), example: { id: "</script>" } } } },
      },
    },
  },
  components: {
    schemas: {
      Box: box,
      Crate: { allOf: [ref("Box"), { properties: { weight: { type: "integer" } } }] },
      Lid: { type: "object", properties: { colour: { type: "string", enum: ["red"] } } },
    },
  },
};

const guides = {
  first: {
    group: "One",
    about: "the beginning",
    text: "# First\n\nSee [second](second.md#b-c), [house](house.md), [out](https://example.com/).\n\n## A <b>\n\n<script>x</script>\n",
  },
  second: { group: "Two", about: "the rest", text: "# Second\n\n## B c\n\n| a |\n|---|\n| 1 |\n" },
};

const page = docsPage(document, guides, "1.2.3");

describe("The page", () => {
  test("has guides first, then operations in the order in which they are read, then events and schemas", () => {
    const ids = Array.from(page.matchAll(/<(?:section|article)[^>]* id="([^"]+)"/g), ([, id]) => id);
    expect(ids).toEqual([
      "start",
      "first",
      "second",
      "tag-threads",
      "getThread",
      "tag-boxes",
      "createBox",
      "listBoxes",
      "getBox",
      "deleteBox",
      "tag-other",
      "healthCheck",
      "event-payloads",
      "event-box.made",
      "schemas",
      "schema-Box",
      "schema-Crate",
      "schema-Lid",
    ]);
  });

  test("has a place for each link into it", () => {
    const links = Array.from(page.matchAll(/href="#([^"]+)"/g), ([, id]) => id);
    const ids = new Set(Array.from(page.matchAll(/ id="([^"]+)"/g), ([, id]) => id));
    // These lead to operations and guides of the service, which this document has not.
    const ofService = ["createInbox", "sendEmail", "listMessages", "errors", "events", "mcp", "content"];
    expect(links.filter((id) => !ids.has(id) && !ofService.includes(id ?? ""))).toEqual([]);
    expect(links).toContain("second/b-c");
  });

  test("links guides to where they stand here, keeps links outwards, and makes text of the others", () => {
    expect(page).toContain(
      '<a href="#second/b-c">second</a>, house, <a href="https://example.com/" rel="noreferrer">out</a>',
    );
  });

  test("shows what looks like HTML as text", () => {
    expect(page).not.toMatch(/<script>|<b>/);
    expect(page).toContain("Its <code>id</code> &lt;b&gt;");
    expect(page).toContain("&lt;/script&gt;");
    expect(page).toContain(">A &lt;b&gt;</a>");
  });

  test("names the types of fields, and links those that have a name", () => {
    expect(page).toContain('<a href="#schema-Lid">Lid</a> or null');
    expect(page).toContain("list of integer");
    expect(page).toContain("at most 2,000 entries");
    expect(page).toContain('Its fields: <a href="#schema-Box">Box</a>');
  });

  test("shows what is sent whole, also where a name stands for it", () => {
    const event = page.slice(page.indexOf('id="event-box.made"'), page.indexOf('id="schemas"'));
    expect(Array.from(event.matchAll(/data-field>(\w+)</g), ([, name]) => name)).toEqual(["id", "lid", "sizes"]);
    expect(page.slice(page.indexOf('id="schema-Crate"'))).toMatch(/data-field>id<.*data-field>weight</s);
  });

  test("tries with the fields that are required, and says who needs no key", () => {
    expect(page).toContain('data-template="{\n  &quot;id&quot;: &quot;b1&quot;\n}"');
    expect(page.match(/Needs no API key/g)).toHaveLength(1);
  });
});

describe("The page of a guide", () => {
  const own = guidePage(document, guides, "second");

  test("has this guide alone, under its own title, and begins its addresses at the whole page", () => {
    expect(own).toContain("<title>Second · inboxd</title>");
    expect(own.indexOf('<base href="../docs">')).toBeLessThan(own.search(/<(?:link|script)/));
    expect(Array.from(own.matchAll(/<section class="view[^>]* id="([^"]+)"/g), ([, id]) => id)).toEqual(["second"]);
    expect(own).toContain('<h3 id="b-c" tabindex="-1">');
  });

  test("leads to its own sections, to other guides and to operations", () => {
    for (const link of ["docs/second#b-c", "docs/first", "#createBox", "docs/second#content"])
      expect([link, own.includes(`href="${link}"`)]).toEqual([link, true]);
    expect(own).toContain('<a href="docs/second" aria-current="page">Second</a>');
    expect(guidePage(document, guides, "first")).toContain('See <a href="docs/second#b-c">second</a>, house,');
  });
});

test("Guides stand in groups, and each leads to the one before and the one after it", () => {
  expect(page).toMatch(/<h2>One<\/h2><ul><li><a href="#first">First<.*<h2>Two<\/h2><ul><li><a href="#second">Second</s);
  const beside = (text: string) =>
    Array.from(text.matchAll(/<a rel="(prev|next)" href="([^"]+)"/g), (found) => found.slice(1));
  expect(beside(page)).toEqual([
    ["next", "#second"],
    ["prev", "#first"],
  ]);
  expect(beside(guidePage(document, guides, "first"))).toEqual([["next", "docs/second"]]);
});

function operation(operationId: string, tag: string) {
  return { operationId, tags: [tag], summary: operationId };
}

function ref(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}
