/** Generates the OpenAPI document from the routes. */
import { z } from "zod";
import { problemSchema } from "./problem.ts";
import { fillPath, type RouteSpec, TAGS } from "./route.ts";

/** Replaces references to `$defs`: the only recursive schema is that of `z.json()`, which the document contains as `Json`. */
function toSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const generated = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  const { $schema: _, $defs = {}, ...jsonSchema } = generated;
  let text = JSON.stringify(jsonSchema);
  for (const name of Object.keys($defs))
    text = text.replaceAll(`"#/$defs/${name}"`, '"#/components/schemas/Json"');
  // A schema that refers to itself is that of `z.json()`.
  if (text.includes('"$ref":"#"')) return { $ref: "#/components/schemas/Json" };
  return JSON.parse(text);
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

export interface OpenApiInput {
  routes: readonly RouteSpec[];
  version: string;
  /** Further schemas, by name. */
  schemas?: Record<string, z.ZodType>;
}

export function openApi({ routes, version, schemas: extraSchemas = {} }: OpenApiInput) {
  const paths: Record<string, Record<string, ReturnType<typeof operation>>> = {};
  const schemas: Record<string, unknown> = {
    Json: { description: "Any JSON value." },
    Problem: toSchema(problemSchema, "output"),
  };
  for (const [name, schema] of Object.entries(extraSchemas))
    schemas[name] = toSchema(schema, "input");
  for (const route of routes) {
    const path = fillPath(route.path, (name) => `{${name}}`);
    paths[path] ??= {};
    paths[path][route.method] = operation(route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Signalbox",
      version,
      description: "The trigger hub for AI agents. The MCP servers are at `/mcp` and `/mcp/APP`.",
      license: { name: "MIT", identifier: "MIT" },
    },
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "A token of `npx signalbox token create NAME`, or the admin token.",
        },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "signalbox_session",
          description:
            "The session of the web UI. If the hub's address has a port, `_PORT` follows the name; if its public URL is https, the name begins with `__Host-`. Requests that change something need the header `Origin`.",
        },
        callbackToken: {
          type: "http",
          scheme: "bearer",
          description:
            "The `callbackToken` that the hub sends to an MCP server with `TRIGGER_CONFIGURE`.",
        },
      },
      responses: {
        Problem: {
          description: "The error, as defined by RFC 9457.",
          content: {
            "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
          },
        },
      },
      schemas,
    },
  };
}

const text = { type: "string" };
const PROBLEM = { $ref: "#/components/responses/Problem" };
const ETAG = { ETag: "The revision of the flow." };
const IF_MATCH = {
  description:
    "The `ETag` of the flow that was read. If the flow has changed since, the response is 409.",
  schema: text,
};
const TENANT = {
  description: "The tenant, if the token is valid for several.",
  schema: text,
};

function operation(route: RouteSpec) {
  const { method, path, summary, tag, scope, ifMatch, query, body, response } = route;
  const hasTenant = scope !== undefined && !route.isShared && !path.includes("/:tenant");
  const names = [...path.matchAll(/:([a-z]+)/g)].map(([, name]) => name as string);
  const querySchema = query ? toSchema(query, "input") : undefined;
  const required = new Set(querySchema?.required ?? []);
  return {
    operationId: `${method}${path.replace(/[^a-z]+([a-z])/g, (_, letter) => letter.toUpperCase())}`,
    summary,
    tags: [tag],
    ...securityOf(route),
    parameters: [
      ...names.map((name) => ({ name, in: "path", required: true, schema: text })),
      ...Object.entries(querySchema?.properties ?? {}).map(([name, schema]) => ({
        name,
        in: "query",
        required: required.has(name),
        schema,
      })),
      ...(hasTenant ? [{ name: "tenant", in: "query", required: false, ...TENANT }] : []),
      ...(ifMatch ? [{ name: "If-Match", in: "header", required: false, ...IF_MATCH }] : []),
    ],
    ...(body && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: toSchema(body, "input") } },
      },
    }),
    responses: {
      [response.status]: {
        description: summary,
        ...headersOf(response),
        ...((response.schema || response.type) && {
          content: {
            [response.type ?? "application/json"]: {
              schema: response.schema ? toSchema(response.schema, "output") : text,
            },
          },
        }),
      },
      ...(response.or && {
        [response.or.status]: {
          description: response.or.when,
          content: {
            "application/json": { schema: toSchema(response.or.schema, "output") },
          },
        },
      }),
      // Not `default`: code generators would add it to the types of successful responses.
      "4XX": PROBLEM,
      "5XX": PROBLEM,
    },
  };
}

function securityOf({ scope, optionalScope, needsCallbackToken }: RouteSpec) {
  if (needsCallbackToken)
    return {
      description: "Requires the callback token of a trigger.",
      security: [{ callbackToken: [] }],
    };
  if (optionalScope !== undefined)
    return {
      description: `Requires a token or a session with the scope \`${optionalScope}\` if the hub is public, unless a setting allows requests without one.`,
      security: [{}, { token: [optionalScope] }, { session: [] }],
    };
  if (scope === undefined) return { description: "Requires no token.", security: [] };
  const [condition, scopes] =
    scope === "any" ? ["", []] : [` with the scope \`${scope}\``, [scope]];
  return {
    description: `Requires a token or a session${condition}.`,
    security: [{ token: scopes }, { session: [] }],
  };
}

function headersOf({ etag, headers }: RouteSpec["response"]) {
  const described = Object.entries({ ...(etag && ETAG), ...headers });
  return described.length === 0
    ? {}
    : {
        headers: Object.fromEntries(
          described.map(([name, description]) => [name, { description, schema: text }]),
        ),
      };
}
