/**
 * A route of the API as data: the schemas that check what comes in are the ones that the OpenAPI
 * document is made of.
 */
import type { Hono } from "hono";
import { z } from "zod";
import type { ReserveBytes } from "../inbox/response-budget.ts";
import { RequestError } from "../lib/request-error.ts";
import type { Scope } from "../store/store.ts";
import { type Access, Denied } from "../tenants/authorizer.ts";
import type { AuthorizeRequest } from "./authorize-request.ts";
import { createByteReservations } from "./byte-reservations.ts";
import {
  deniedResponse,
  errorResponse,
  fromZodError,
  problemResponse,
} from "./problem-response.ts";
import { readJson, refuseNulIn, TOO_LARGE, tooLargeWords } from "./read-json.ts";

export interface RouteRequest<Query, Body> {
  access: Access;
  /** Whose data it is about; empty where it is nobody's. */
  tenant: string;
  param(name: string): string;
  query: Query;
  body: Body;
  /** The revision in `If-Match`, where one was sent. */
  ifMatch: number | undefined;
  /** Where the caller reached the hub. */
  origin: string;
  /** Waits until so much may be held for the caller. */
  reserveBytes: ReserveBytes;
  /** Aborted when the caller has gone. */
  signal: AbortSignal;
}

type Answer =
  | { status?: 200 | 201 | 202; json: unknown; etag?: number; headers?: Record<string, string> }
  | { status: 204 }
  | Response;

export interface Route {
  method: "get" | "post" | "put" | "patch" | "delete";
  path: string;
  summary: string;
  /** Undefined where any token will do. */
  scope: Scope | undefined;
  /** The same for all tenants: nobody has to say whose data is meant. */
  isShared?: boolean;
  /** Whether it heeds `If-Match`. */
  ifMatch?: boolean;
  tag: string;
  query: z.ZodType | undefined;
  body: z.ZodType | undefined;
  answer: {
    status: number;
    schema?: z.ZodType | undefined;
    type?: string | undefined;
    /** Whether it has an `ETag`. */
    etag?: boolean;
    /** What else it may be. */
    or?: { status: number; schema: z.ZodType; when: string };
  };
  handle(asked: RouteRequest<never, never>): Promise<Answer>;
}

interface RouteRecipe<Query extends z.ZodType, Body extends z.ZodType>
  extends Omit<Route, "query" | "body" | "handle"> {
  query?: Query;
  body?: Body;
  handle(asked: RouteRequest<z.output<Query>, z.output<Body>>): Promise<Answer>;
}

export const defineRoute = <
  Query extends z.ZodType = z.ZodType<undefined>,
  Body extends z.ZodType = z.ZodType<undefined>,
>(
  recipe: RouteRecipe<Query, Body>,
): Route => ({ query: undefined, body: undefined, ...recipe }) as Route;

export function mountRoutes(
  app: Hono,
  routes: readonly Route[],
  authorizeRequest: AuthorizeRequest,
): void {
  const reservationsOf = createByteReservations();
  for (const route of routes)
    app.on(route.method.toUpperCase(), route.path, async (c) => {
      const access = await authorizeRequest(c.req.raw, {
        scope: route.scope,
        needsTenant: !route.isShared,
      });
      if (access instanceof Denied) return deniedResponse(access);
      try {
        const tenant = route.isShared ? "" : theOne(access);
        const query = withoutTenant(c.req.query());
        refuseNulIn({ tenant, ...query, ...c.req.param() });
        const body = route.body && (await readJson(c.req.raw.body));
        if (body === TOO_LARGE)
          return problemResponse(413, "too_large", "Too large", tooLargeWords());
        return toResponse(
          await route.handle({
            access,
            tenant,
            param: (name) => c.req.param(name) ?? "",
            query: parse(route.query ?? noQuery, query, "query") as never,
            body: parse(route.body, body, "body") as never,
            ifMatch: revisionIn(c.req.header("if-match")),
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

function theOne({ tenants: [tenant, another] }: Access): string {
  if (tenant === undefined || another !== undefined)
    throw new RequestError("invalid", "tenant", "say whose data you mean with ?tenant=…");
  return tenant;
}

/** What a route does not know is a mistake that its answer would hide. */
const noQuery = z.strictObject({});

function parse(schema: z.ZodType | undefined, value: unknown, where: string): unknown {
  const parsed = schema?.safeParse(value);
  if (parsed?.success === false) throw fromZodError(parsed.error, where);
  return parsed?.data;
}

const withoutTenant = ({ tenant: _, ...query }: Record<string, string>) => query;

function revisionIn(header: string | undefined): number | undefined {
  if (header === undefined || header === "*") return undefined;
  const revision = /^(?:W\/)?"?(\d{1,15})"?$/.exec(header)?.[1];
  if (revision === undefined)
    throw new RequestError("invalid", "If-Match", 'must be the ETag of the flow, such as "3"');
  return Number(revision);
}

function toResponse(answer: Answer): Response {
  if (answer instanceof Response) return answer;
  if (!("json" in answer)) return new Response(null, { status: 204 });
  const { status = 200, json, etag, headers = {} } = answer;
  return Response.json(json, {
    status,
    headers: { ...headers, ...(etag !== undefined && { etag: `"${etag}"` }) },
  });
}
