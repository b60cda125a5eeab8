/** Defines the routes of the API as data. The schemas validate requests, and generate the OpenAPI document. */

import { type MixedJson, writeJson } from "@signalbox/rules/large-json.ts";
import type { Hono } from "hono";
import { z } from "zod";
import type { AuthorizeRequest } from "../access/authorize-request.ts";
import { type Access, Denied } from "../access/authorizer.ts";
import { onlyTenant } from "../access/only-tenant.ts";
import type { Scope } from "../access/scopes.ts";
import { assertLengths } from "../lib/assert-lengths.ts";
import { type BodyLimits, DEFAULT_BODY_LIMITS } from "../lib/limits.ts";
import { assertNoNulInParameters } from "../lib/parse-json.ts";
import { RequestError } from "../lib/request-error.ts";
import { createByteReservations } from "./byte-reservations.ts";
import {
  deniedResponse,
  errorResponse,
  fromZodError,
  problemResponse,
} from "./problem-response.ts";
import { readJson, TOO_LARGE, tooLargeMessage } from "./read-json.ts";
import type { ReserveBytes } from "./response-budget.ts";

export interface RouteRequest<Query, Body> {
  access: Access;
  /** Empty if the route is shared by all tenants. */
  tenant: string;
  param(name: string): string;
  header(name: string): string | null;
  query: Query;
  body: Body;
  /** The revision in `If-Match`; undefined if the route does not support it. */
  ifMatch: number | undefined;
  /** The origin of the request's URL. */
  origin: string;
  /** Must be called before payloads are read for the response. */
  reserveBytes: ReserveBytes;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
}

/** The groups of routes in the OpenAPI document, with their descriptions. */
export const TAGS = {
  inbox: "The inbox for agents and scripts: pending events of all tenants of the token.",
  webhooks: "The endpoints that receive webhooks, and callbacks of MCP servers.",
  events: "The events of one tenant: search, explain, replay.",
  apps: "Apps: each is served as one MCP server.",
  flows: "Flows: drafts, published versions, node types.",
  runs: "Runs of flows, with their steps.",
  connections: "MCP servers that flows call, and whose triggers start flows.",
  secrets: "Secrets of flows, which can be written and used but not read.",
  sources: "Webhook endpoints and their signing secrets.",
  tokens: "Access tokens.",
  stats: "Counts for a dashboard.",
  session: "Sign-in to the web UI.",
  tenants: "Tenants: their settings and their data.",
  meta: "Health, metrics, and this document.",
} as const;
type Tag = keyof typeof TAGS;

type RouteResult =
  /** `json` can contain large values. */
  | { status?: 200 | 201 | 202; json: unknown; etag?: number; headers?: Record<string, string> }
  | { status: 204 }
  | Response;

/** The route needs a token or a session with any scope. */
type AnyScope = "any";

/** The part of a route that the OpenAPI document contains. */
export interface RouteDescription {
  method: "get" | "post" | "put" | "patch" | "delete";
  path: string;
  summary: string;
  /** The scope that the token must have; undefined if the route needs no token. */
  scope: Scope | AnyScope | undefined;
  /** The scope that the token must have if a setting of the hub requires a token. */
  optionalScope?: Scope;
  /** Whether the route needs the callback token of a trigger instead, which the hub sends with `TRIGGER_CONFIGURE`. */
  needsCallbackToken?: boolean;
  /** Whether the route concerns no single tenant, so that the request does not have to name one. */
  isShared?: boolean;
  /** Whether a token for all tenants can use the route with `?tenant=*`. */
  everyTenant?: boolean;
  /** Whether the route supports `If-Match`. */
  ifMatch?: boolean;
  /** Whether the body contains whole flows. If so, the limits of imports apply to it. */
  hasFlows?: boolean;
  tag: Tag;
  query?: z.ZodType | undefined;
  body?: z.ZodType | undefined;
  response: {
    status: number;
    schema?: z.ZodType | undefined;
    type?: string | undefined;
    /** Whether the response has an `ETag`. */
    etag?: boolean;
    /** The descriptions of other headers of the response, by name. */
    headers?: Record<string, string>;
    /** An alternative response. */
    or?: { status: number; schema: z.ZodType; when: string };
  };
}

export interface Route extends RouteDescription {
  scope: Scope | AnyScope;
  handle(request: RouteRequest<never, never>): Promise<RouteResult>;
}

interface RouteDefinition<Query extends z.ZodType, Body extends z.ZodType>
  extends Omit<Route, "query" | "body" | "handle"> {
  query?: Query;
  body?: Body;
  handle(request: RouteRequest<z.output<Query>, z.output<Body>>): Promise<RouteResult>;
}

export const defineRoute = <
  Query extends z.ZodType = z.ZodType<undefined>,
  Body extends z.ZodType = z.ZodType<undefined>,
>(
  definition: RouteDefinition<Query, Body>,
): Route => definition as Route;

export function mountRoutes(
  app: Hono,
  routes: readonly Route[],
  authorizeRequest: AuthorizeRequest,
  limits: BodyLimits = DEFAULT_BODY_LIMITS,
): void {
  const reservationsOf = createByteReservations();
  for (const route of routes)
    app.on(route.method.toUpperCase(), route.path, async (c) => {
      // A tenant in the path has the same effect as `?tenant=`.
      const pathTenant = c.req.param("tenant");
      const access = await authorizeRequest(c.req.raw, {
        scope: route.scope === "any" ? undefined : route.scope,
        needsTenant: !route.isShared,
        ...(pathTenant !== undefined && { tenant: pathTenant }),
      });
      if (access instanceof Denied)
        return pathTenant !== undefined && access.code === "no_tenant"
          ? errorResponse(noSuchTenant(pathTenant))
          : deniedResponse(access);
      try {
        const tenant = route.isShared ? "" : onlyTenant(access, route);
        const query = withoutTenant(c.req.query());
        assertNoNulInParameters({ tenant, ...query, ...c.req.param() });
        const [maxBytes, maxValues] = route.hasFlows
          ? [limits.importBytes, limits.importValues]
          : [limits.bodyBytes, limits.values];
        const body = route.body && (await readJson(c.req.raw.body, maxBytes, maxValues));
        if (body === TOO_LARGE)
          return problemResponse(413, "too_large", "Too large", tooLargeMessage(maxBytes));
        return toResponse(
          await route.handle({
            access,
            tenant,
            param: (name) => c.req.param(name) ?? "",
            header: (name) => c.req.header(name) ?? null,
            query: parse(route.query ?? noQuery, query, "query") as never,
            body: parse(route.body, body, "body") as never,
            ifMatch: route.ifMatch ? parseIfMatch(c.req.header("if-match")) : undefined,
            origin: new URL(c.req.url).origin,
            reserveBytes: reservationsOf(c, access.token),
            signal: c.req.raw.signal,
          }),
        );
      } catch (error) {
        return errorResponse(error);
      }
    });
}

/** The error is the same for a tenant that does not exist and for one that the token must not access. */
export const noSuchTenant = (id: string) =>
  new RequestError("not_found", "tenant", `There is no tenant ${id}.`);

/**
 * A route without query parameters rejects every parameter, so that a misspelled one is not
 * ignored.
 */
const noQuery = z.strictObject({});

function parse(schema: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (!schema) return undefined;
  assertLengths(schema, value);
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw fromZodError(parsed.error, where);
  return parsed.data;
}

const withoutTenant = ({ tenant: _, ...query }: Record<string, string>) => query;

function parseIfMatch(header: string | undefined): number | undefined {
  if (header === undefined || header === "*") return undefined;
  const revision = /^(?:W\/)?"?(\d{1,15})"?$/.exec(header)?.[1];
  if (revision === undefined)
    throw new RequestError("invalid", "If-Match", 'must be the ETag of the flow, such as "3"');
  return Number(revision);
}

/**
 * Shared caches never store the response to a request with `Authorization`, but they may store the
 * response to a request with a session cookie.
 */
export const NO_STORE = { "cache-control": "no-store" };

function toResponse(result: RouteResult): Response {
  if (result instanceof Response) return result;
  if (!("json" in result)) return new Response(null, { status: 204 });
  const { status = 200, json, etag, headers = {} } = result;
  return new Response(writeJson(json as MixedJson), {
    status,
    headers: {
      "content-type": "application/json",
      ...NO_STORE,
      ...headers,
      ...(etag !== undefined && { etag: `"${etag}"` }),
    },
  });
}
