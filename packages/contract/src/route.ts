/** The data of a route: what the hub checks and responds, what clients send and read, and what OpenAPI describes. */
import type { z } from "zod";
import type { Scope } from "./scopes.ts";

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

export type Method = "get" | "post" | "put" | "patch" | "delete";

export interface RouteSpec {
  readonly method: Method;
  /** Parameters have a colon: `/api/runs/:run`. */
  readonly path: string;
  readonly summary: string;
  /** The scope that the token must have; `any`: a token or a session suffices; undefined: the route needs no token. */
  readonly scope: Scope | "any" | undefined;
  /** The scope that the token must have if a setting of the hub requires a token. */
  readonly optionalScope?: Scope;
  /** Whether the route needs the callback token of a trigger instead, which the hub sends with `TRIGGER_CONFIGURE`. */
  readonly needsCallbackToken?: boolean;
  /** Whether the route concerns no single tenant, so that the request does not have to name one. */
  readonly isShared?: boolean;
  /** Whether a token for all tenants can use the route with `?tenant=*`. */
  readonly everyTenant?: boolean;
  /** Whether the route supports `If-Match`. */
  readonly ifMatch?: boolean;
  /** Whether the body contains whole flows. If so, the limits of imports apply to it. */
  readonly hasFlows?: boolean;
  readonly tag: keyof typeof TAGS;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  readonly response: {
    readonly status: 200 | 201 | 202 | 204;
    /** Absent if the response has no body, or no JSON. */
    readonly schema?: z.ZodType;
    readonly type?: string;
    /** Whether the response has an `ETag`. */
    readonly etag?: boolean;
    /** The descriptions of other headers of the response, by name. */
    readonly headers?: Readonly<Record<string, string>>;
    /** An alternative response. */
    readonly or?: {
      readonly status: 200 | 201 | 202;
      readonly schema: z.ZodType;
      readonly when: string;
    };
  };
}

/** Returns the route unchanged, but infers the types of its path and its schemas. */
export const route = <const Spec extends RouteSpec>(spec: Spec): Spec => spec;

/** The names of the parameters in a path. */
export type PathParam<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Tail}`
    ? Name | PathParam<Tail>
    : Rest
  : never;

/** Replaces each parameter in a path by what `fill` returns for its name. */
export const fillPath = (path: string, fill: (name: string) => string): string =>
  path.replace(/:([a-z]+)/g, (_, name: string) => fill(name));
