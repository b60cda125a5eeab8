/** Implements and mounts the routes of the contract. Their schemas validate requests, and type the handlers. */

import type { PathParam, RouteSpec } from "@signalbox/contract/route.ts";
import { type MixedJson, writeJson } from "@signalbox/rules/large-json.ts";
import type { Hono } from "hono";
import { z } from "zod";
import type { AuthorizeRequest } from "../access/authorize-request.ts";
import { type Access, Denied, onlyTenant } from "../access/authorizer.ts";
import { assertLengths } from "../lib/assert-lengths.ts";
import { type BodyLimits, DEFAULT_BODY_LIMITS } from "../lib/limits.ts";
import { assertNoNulInParameters } from "../lib/parse-json.ts";
import { RequestError } from "../lib/request-error.ts";
import { createByteReservations, type ReserveBytes } from "./byte-budgets.ts";
import {
  deniedResponse,
  errorResponse,
  fromZodError,
  problemResponse,
} from "./problem-response.ts";
import { readJson, TOO_LARGE, tooLargeMessage } from "./read-json.ts";

type OutputOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** A request to the route `Spec`: its query and its body are checked. */
export interface RouteRequest<Spec extends RouteSpec = RouteSpec> {
  access: Access;
  /** Empty if the route is shared by all tenants. */
  tenant: string;
  param(name: PathParam<Spec["path"]>): string;
  header(name: string): string | null;
  query: OutputOf<Spec["query"]>;
  body: OutputOf<Spec["body"]>;
  /** The revision in `If-Match`; undefined if the route does not support it. */
  ifMatch: number | undefined;
  /** The origin of the request's URL. */
  origin: string;
  /** Must be called before payloads are read for the response. */
  reserveBytes: ReserveBytes;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
}

/**
 * What a handler may return for a value of the contract: its lists may be read-only, and any JSON may be
 * large. See docs/decisions/0021-large-values-stay-text.md.
 */
type Writable<Value> = unknown extends Value
  ? unknown
  : [z.core.util.JSONType] extends [Value]
    ? MixedJson | Extract<Value, undefined>
    : Value extends (infer Item)[]
      ? readonly Writable<Item>[]
      : Value extends object
        ? { [Name in keyof Value]: Writable<Value[Name]> }
        : Value;

interface JsonResult<Value> {
  json: Writable<Value>;
  headers?: Record<string, string>;
}
type Described = RouteSpec["response"];
// biome-ignore lint/suspicious/noConfusingVoidType: an async handler that returns no body resolves to void
type Nothing = void;
type AnyResult = Nothing | Response | (JsonResult<unknown> & { status?: number; etag?: number });

/**
 * What the handler of a route returns: the JSON that the contract describes, nothing if it describes no
 * body, or a whole response, such as a stream or a problem.
 */
type RouteResult<Response_ extends Described> =
  | Response
  | (Response_ extends { schema: infer Schema extends z.ZodType }
      ? JsonResult<z.output<Schema>> &
          (Response_ extends { etag: true } ? { etag: number } : unknown) &
          // With an alternative, the status says which of the two responses it is.
          (Response_ extends { or: object } ? { status: Response_["status"] } : unknown)
      : Response_ extends { status: 204 }
        ? Nothing
        : never)
  | (Response_ extends { or: infer Or extends NonNullable<Described["or"]> }
      ? JsonResult<z.output<Or["schema"]>> & { status: Or["status"] }
      : never);

/** A route of the contract with its handler. */
export interface Route extends RouteSpec {
  handle(request: RouteRequest): Promise<AnyResult>;
}

/** Implements a route of the contract. The compiler compares the result of the handler with the schemas. */
export const implement = <Spec extends RouteSpec>(
  spec: Spec,
  handle: (request: RouteRequest<Spec>) => Promise<RouteResult<Spec["response"]>>,
): Route => ({ ...spec, handle: handle as Route["handle"] });

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
          route,
          await route.handle({
            access,
            tenant,
            param: (name) => c.req.param(name) ?? "",
            header: (name) => c.req.header(name) ?? null,
            query: parse(route.query ?? noQuery, query, "query"),
            body: parse(route.body, body, "body"),
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

function toResponse({ response }: RouteSpec, result: AnyResult): Response {
  if (result instanceof Response) return result;
  if (!result) return new Response(null, { status: response.status });
  const { status = response.status, json, etag, headers = {} } = result;
  // `json` can contain large values.
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
