/** `GET /api/openapi.json`: generated from the routes. */
import { z } from "zod";
import { defineRoute, type Route } from "./route.ts";

type Schemas = Record<string, unknown>;

/** Moves the recursive schemas from Zod's `$defs` to the document's `components`. */
function toSchema(schema: z.ZodType, io: "input" | "output", shared: Schemas) {
  const { $schema: _, ...generated } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  const { $defs = {}, ...rest } = generated;
  let text = JSON.stringify(rest);
  for (const [local, definition] of Object.entries($defs)) {
    const localRef = `#/$defs/${local}`;
    const name = nameFor(JSON.stringify(definition).replaceAll(localRef, "#"), shared);
    const sharedRef = `#/components/schemas/${name}`;
    shared[name] = JSON.parse(JSON.stringify(definition).replaceAll(localRef, sharedRef));
    text = text.replaceAll(`"${localRef}"`, `"${sharedRef}"`);
  }
  return JSON.parse(text) as typeof rest;
}

/** Equal definitions of different schemas get the same name. */
function nameFor(definition: string, shared: Schemas): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? "Json" : `Json${number}`;
    const known = shared[name];
    const same = JSON.stringify(known)?.replaceAll(`#/components/schemas/${name}`, "#");
    if (known === undefined || same === definition) return name;
  }
}

const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string().describe("Stable; compare by this field."),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

/** The document includes this route and `extraSchemas`. */
export function openApiRoute(
  routes: readonly Route[],
  version: string,
  extraSchemas: Record<string, z.ZodType> = {},
): Route {
  let document: Record<string, unknown> | undefined;
  const route = defineRoute({
    method: "get",
    path: "/api/openapi.json",
    summary: "This document",
    tag: "meta",
    scope: undefined,
    isShared: true,
    response: { status: 200, schema: z.record(z.string(), z.json()) },
    async handle() {
      document ??= openApi([...routes, route], version, extraSchemas);
      return { json: document };
    },
  });
  return route;
}

function openApi(
  routes: readonly Route[],
  version: string,
  extraSchemas: Record<string, z.ZodType>,
): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  const schemas: Schemas = {};
  schemas.Problem = toSchema(problemSchema, "output", schemas);
  for (const [name, schema] of Object.entries(extraSchemas))
    schemas[name] = toSchema(schema, "input", schemas);
  for (const route of routes) {
    const path = route.path.replace(/:([a-z]+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][route.method] = operation(route, schemas);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Signalbox", version, description: "The trigger hub for AI agents." },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas,
    },
  };
}

const text = { type: "string" };
const ETAG = { description: "The revision of the flow.", schema: text };
const IF_MATCH = {
  description:
    "The `ETag` of the flow that was read. If the flow has changed since, the response is 409.",
  schema: text,
};

function operation(route: Route, schemas: Schemas) {
  const { method, path, summary, tag, scope, isShared, ifMatch, query, body, response } = route;
  const names = [...path.matchAll(/:([a-z]+)/g)].map(([, name]) => name as string);
  const querySchema = query ? toSchema(query, "input", schemas) : undefined;
  const required = new Set(querySchema?.required ?? []);
  return {
    operationId: `${method}${path.replace(/[^a-z]+([a-z])/g, (_, letter) => letter.toUpperCase())}`,
    summary,
    tags: [tag],
    description:
      scope === undefined ? "Requires a token." : `Requires a token with the scope \`${scope}\`.`,
    parameters: [
      ...names.map((name) => ({ name, in: "path", required: true, schema: text })),
      ...Object.entries(querySchema?.properties ?? {}).map(([name, schema]) => ({
        name,
        in: "query",
        required: required.has(name),
        schema,
      })),
      ...(isShared ? [] : [{ name: "tenant", in: "query", required: false, schema: text }]),
      ...(ifMatch ? [{ name: "If-Match", in: "header", required: false, ...IF_MATCH }] : []),
    ],
    ...(body && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: toSchema(body, "input", schemas) } },
      },
    }),
    responses: {
      [response.status]: {
        description: summary,
        ...(response.etag && { headers: { ETag: ETAG } }),
        ...((response.schema || response.type) && {
          content: {
            [response.type ?? "application/json"]: {
              schema: response.schema ? toSchema(response.schema, "output", schemas) : text,
            },
          },
        }),
      },
      ...(response.or && {
        [response.or.status]: {
          description: response.or.when,
          content: {
            "application/json": { schema: toSchema(response.or.schema, "output", schemas) },
          },
        },
      }),
      default: {
        description: "The error",
        content: {
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
        },
      },
    },
  };
}
