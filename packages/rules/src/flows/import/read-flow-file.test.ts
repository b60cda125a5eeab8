import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../json.ts";
import { RequestError } from "../../request-error.ts";
import { readFlowFile } from "./read-flow-file.ts";

const flow = { name: "One" };
const appsOf = (content: Json, app?: string) =>
  readFlowFile(content, app).map((file) => [file.app.slug, file.flows.length]);

describe("a file of flows", () => {
  it("may contain one flow, an array of flows, or an app with its flows", () => {
    expect(appsOf(flow, "desk")).toEqual([["desk", 1]]);
    expect(appsOf([flow, flow], "desk")).toEqual([["desk", 2]]);
    expect(appsOf({ app: "desk", flows: [flow] })).toEqual([["desk", 1]]);
    expect(
      appsOf([
        { app: "a", flows: [flow] },
        { ...flow, app: "b" },
      ]),
    ).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
    expect(appsOf([])).toEqual([]);
    expect(appsOf({ app: "desk", flows: [] })).toEqual([]);
  });

  it("names the app of each flow, unless the caller overrides it", () => {
    const rows = [
      { ...flow, appId: "Support Desk" },
      { ...flow, appId: "billing" },
      { ...flow, appSlug: "support-desk" },
    ];
    expect(appsOf(rows)).toEqual([
      ["support-desk", 2],
      ["billing", 1],
    ]);
    expect(appsOf(rows, "all")).toEqual([["all", 3]]);
    expect(
      readFlowFile({ app: { slug: "x", name: "X", description: "d" }, flows: [flow] }),
    ).toEqual([{ app: { slug: "x", name: "X", description: "d" }, flows: [flow], notes: [] }]);
  });

  it("may contain the rows of apps, which the flows refer to by id", () => {
    const apps = [{ id: 7, slug: "desk", name: "The desk", status: "draft" }];
    const flows = [
      { ...flow, app_id: "7" },
      { ...flow, appId: "unknown" },
    ];
    expect(readFlowFile({ apps, flows })).toMatchObject([
      { app: { slug: "desk", name: "The desk", description: "" }, notes: [] },
      { app: { slug: "unknown" } },
    ]);
    expect(appsOf({ apps, flows }, "all")).toEqual([["all", 2]]);
  });

  it("keeps each row of apps a separate app, and reports changed slugs", () => {
    const slugs = ["Shop!", "日本", "größe", "shop", "2026", "shop", "東京"];
    const apps = slugs.map((slug, id) => ({ id, slug, name: `App ${id}` }));
    const flows = [
      ...apps.map(({ id }) => ({ ...flow, appId: id })),
      { ...flow, appSlug: "Shop!" },
      { ...flow, appSlug: "shop" },
    ];
    const files = readFlowFile({ apps, flows });
    expect(
      files.map(({ app, flows, notes }) => [app.slug, app.name, flows.length, ...notes]),
    ).toEqual([
      [
        "shop-3",
        "App 0",
        2,
        'app.slug: "Shop!" cannot be shop, which another app has; it is now shop-3.',
      ],
      ["app", "App 1", 1, 'app.slug: "日本" is not a valid slug; it is now app.'],
      ["grosse", "App 2", 1, 'app.slug: "größe" is not a valid slug; it is now grosse.'],
      ["shop", "App 3", 2],
      ["2026", "App 4", 1],
      [
        "shop-2",
        "App 5",
        1,
        'app.slug: "shop" cannot be shop, which another app has; it is now shop-2.',
      ],
      [
        "app-2",
        "App 6",
        1,
        'app.slug: "東京" cannot be app, which another app has; it is now app-2.',
      ],
    ]);
    // The slugs are the same if each flow is read alone, as in the migration of a database.
    const alone = flows.flatMap((single) => readFlowFile({ apps, flows: [single] }));
    expect(alone.map(({ app }) => app.slug)).toEqual([
      "shop-3",
      "app",
      "grosse",
      "shop",
      "2026",
      "shop-2",
      "app-2",
      "shop-3",
      "shop",
    ]);
  });

  it("assigns a flow without an app to no row, and names rows without a name by their slug", () => {
    const apps = [{ slug: "a" }, { slug: "b", name: "" }];
    expect(() => readFlowFile({ apps, flows: [flow] })).toThrow("Name the app of the flows");
    const [file] = readFlowFile({ apps, flows: [{ ...flow, app: "b" }] });
    expect(file?.app).toMatchObject({ slug: "b", name: "b" });
  });

  it("reports an invalid app, and still returns the others", () => {
    const apps = [
      { id: 1, slug: "long", name: "x".repeat(10_000) },
      { id: 2, slug: "desk" },
    ];
    const flows = [1, 2, 1].map((appId) => ({ ...flow, appId }));
    expect(readFlowFile({ apps, flows })).toMatchObject([
      { app: { slug: "long" }, flows: [{}, {}], error: expect.stringMatching(/^app\.name: /) },
      { app: { slug: "desk", name: "desk" }, flows: [{}] },
    ]);
    expect(readFlowFile(flow, "天気")).toMatchObject([
      { error: expect.stringContaining("A slug has") },
    ]);
  });

  it("may contain rows with columns in any case style", () => {
    const rows = [
      { name: "One", app_slug: "desk", tool_name: "one", is_active: 1, nodes: "[]", other_one: 1 },
      { name: "Two", app_id: "desk", toolName: "two", tool_name: "too", tooldescription: "Does." },
    ];
    expect(readFlowFile(rows)[0]?.flows).toEqual([
      { name: "One", appSlug: "desk", toolName: "one", isActive: 1, nodes: [], other_one: 1 },
      { name: "Two", appId: "desk", toolName: "two", tool_name: "too", toolDescription: "Does." },
    ]);
  });

  it("reports unknown fields", () => {
    const app = { slug: "x", name: "X", colour: "red" };
    const [file] = readFlowFile({ app, exportedAt: 7, flows: [flow, flow] });
    expect(file?.notes).toEqual([
      "exportedAt: 7 is not a field of a file of flows, and was ignored.",
      'app.colour: "red" is not a field of an app, and was ignored.',
    ]);
  });

  it("may contain JSON columns as text", () => {
    const row = {
      ...flow,
      app: "a",
      nodes: '[{"id":"n"}]',
      connections: "oops",
      description: "[]",
    };
    expect(readFlowFile(row)[0]?.flows).toEqual([{ ...row, nodes: [{ id: "n" }] }]);
  });

  it("is rejected without an app, or if it is neither an object nor an array", () => {
    expect(() => readFlowFile(flow)).toThrow("--app SLUG");
    expect(() => readFlowFile(5)).toThrow("must contain a flow");
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        try {
          readFlowFile(value as Json, "desk");
        } catch (error) {
          expect(error).toBeInstanceOf(RequestError);
        }
      }),
    );
  });
});
