import { readFileSync } from "node:fs";
import { openApi } from "@signalbox/contract/openapi.ts";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { validateFlow } from "@signalbox/rules/flows/validate.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { describe, expect, it } from "vitest";
import type { Route } from "../../kernel/http/route.ts";
import { nodeTypeRoutes, parameterSchemas } from "./node-type-routes.ts";

interface TypeView {
  type: string;
  kind: string;
  title: string;
  description: string;
  icon: string;
  ports: { in: string[]; out: string[]; from_parameters: boolean };
  config: JsonObject;
  settings: JsonObject;
}

const call = async (route: Route | undefined): Promise<JsonObject> => {
  const result = await route?.handle({} as never);
  if (!result || !("json" in result)) throw new Error("the route returned no JSON");
  return JSON.parse(JSON.stringify(result.json));
};
const { items } = (await call(nodeTypeRoutes(nodeTypes)[0])) as unknown as { items: TypeView[] };

/** Yields the path and the schema of each field, at any depth. The boolean is false for fields inside a union. */
function* fieldsOf(schema: Json | undefined, path = ""): Generator<[string, JsonObject, boolean]> {
  if (!isObject(schema)) return;
  for (const [name, field] of Object.entries(
    isObject(schema.properties) ? schema.properties : {},
  )) {
    if (!isObject(field)) continue;
    const fieldPath = path ? `${path}.${name}` : name;
    yield [fieldPath, field, true];
    yield* fieldsOf(field, fieldPath);
  }
  yield* fieldsOf(schema.items, path);
  for (const option of [schema.anyOf, schema.oneOf].flat())
    for (const [fieldPath, field] of fieldsOf(option, path)) yield [fieldPath, field, false];
}

const guide = readFileSync(new URL("../../../../../docs/flows.md", import.meta.url), "utf8");
/** Returns the text from a heading to the next heading. */
const sectionOf = (title: string): string => {
  const [, ...sections] = guide.split(/^(?=#{2,3} )/m);
  const section = sections.find((text) => text.replace(/^#+ /, "").startsWith(`${title}\n`));
  if (!section) throw new Error(`docs/flows.md has no section ${title}`);
  return section;
};
const examplesIn = (text: string): JsonObject[] =>
  [...text.matchAll(/^```json\n(.*?)^```/gms)].map(([, json]) => JSON.parse(json ?? ""));
const mentions = (text: string, path: string) =>
  [path, path.split(".").at(-1)].some((name) => text.includes(`\`${name}\``));

describe.each(items)("$type", ({ type, kind, ports, config, settings, ...texts }) => {
  it("is listed with its ports and a schema that describes every field", () => {
    expect(Object.values(texts)).not.toContain("");
    expect(ports.in).toEqual(kind === "trigger" ? [] : ["in"]);
    expect(ports.out.includes("error")).toBe(!["trigger", "result"].includes(kind));
    for (const [path, { description }, isOutsideUnion] of [
      ...fieldsOf(config),
      ...fieldsOf(settings),
    ])
      if (isOutsideUnion) expect(description, `${type}: ${path}`).toMatch(/^[A-Z`{].*\.$/s);
  });

  it("is described in docs/flows.md, with every port and field and a valid example", () => {
    const row = sectionOf("Node types")
      .split("\n")
      .find((line) => line.startsWith(`| \`${type}\` `));
    expect(row).toContain(`| ${kind} `);
    for (const port of ports.from_parameters ? ["error"] : ports.out)
      expect(row).toContain(`\`${port}\``);
    const section = sectionOf(`\`${type}\``);
    for (const [path] of fieldsOf(config)) {
      const isInConcurrency = /^(concurrency|gather)\./.test(path);
      const text = isInConcurrency ? sectionOf("Concurrency") : section;
      expect(mentions(text, path), `${type}: ${path}`).toBe(true);
    }
    const examples = examplesIn(section);
    expect(examples.length).toBeGreaterThan(0);
    for (const parameters of examples) expect(configErrors(type, parameters)).toEqual([]);
  });
});

/** Returns only the errors of the parameters: in a flow of one node, references cannot be resolved. */
const configErrors = (type: string, parameters: JsonObject) => {
  const withToolName = type === "UserIntent" ? { toolName: "x", ...parameters } : parameters;
  const position = { x: 0, y: 0 };
  const node = { id: "n", type, name: "n", slug: "n", position, parameters: withToolName };
  const { errors } = validateFlow({ nodes: [node], edges: [] }, nodeTypes);
  return errors.filter(({ code }) => code === "invalid_config");
};

it("docs/flows.md describes the settings of a node", () => {
  const section = sectionOf("Settings of a node");
  const view = items.find(({ type }) => type === "HttpRequest");
  for (const [path] of fieldsOf(view?.settings)) {
    if (path !== "retries") expect(section).toContain(`| \`${path}\` `);
  }
  for (const parameters of examplesIn(section))
    expect(configErrors("HttpRequest", parameters)).toEqual([]);
});

it("docs/flows.md describes no unknown node type", () => {
  const documented = [...guide.matchAll(/^### `(\w+)`$/gm)].map(([, type]) => type);
  expect(documented.toSorted()).toEqual([...nodeTypes.keys()].toSorted());
});

it("the OpenAPI document contains the parameters and settings of every node type", () => {
  const document = openApi({ routes: [], version: "1", schemas: parameterSchemas(nodeTypes) });
  const schemas = document.components.schemas as Record<string, JsonObject>;
  for (const { type, config } of items) {
    const { properties } = schemas[`${type}Parameters`] as { properties: JsonObject };
    const fields = Object.keys(config.properties as JsonObject);
    expect(Object.keys(properties)).toEqual([...fields, "settings"]);
  }
  expect(JSON.stringify(schemas.HttpRequestParameters)).toContain("continueOnError");
});
