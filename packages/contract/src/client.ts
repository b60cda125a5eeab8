/**
 * A client of the API whose types are those of the routes. At run time it knows no route: a request is a
 * method and a path. So import the types of the routes from index.ts with `import type`, and a bundle
 * contains no schema.
 */
import type { z } from "zod";
import { fillPath, type Method, type PathParam, type RouteSpec } from "./route.ts";

export type QueryValue = string | number | boolean | undefined;

/** A request whose path has no parameters any more. */
export interface ApiRequest {
  method: Uppercase<Method>;
  path: string;
  query?: Record<string, QueryValue>;
  body?: unknown;
  ifMatch?: number;
  signal?: AbortSignal | undefined;
}

/** Sends a request, and returns the parsed body; undefined if there is none. Throws on an error response. */
export type SendRequest = (request: ApiRequest) => Promise<unknown>;

type Path<Routes extends RouteSpec, M extends Method> = Extract<Routes, { method: M }>["path"];

/** The route with this method and path. */
export type RouteAt<Routes extends RouteSpec, M extends Method, P extends string> = Extract<
  Routes,
  { method: M; path: P }
>;

type JsonOf<Response> = Response extends { schema: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : undefined;
type AlternativeOf<Response> = Response extends { or: infer Alternative }
  ? JsonOf<Alternative>
  : never;
/** The parsed body of a successful response. */
export type ResponseOf<Route extends RouteSpec> =
  | JsonOf<Route["response"]>
  | AlternativeOf<Route["response"]>;

/** Parameters of a query are text. A schema that converts them, such as `limit`, also accepts a number here. */
type QueryFields<Fields> = {
  [Name in keyof Fields]: unknown extends Fields[Name] ? QueryValue : Fields[Name];
};
export type QueryOf<Route> = Route extends { query: infer Schema extends z.ZodType }
  ? QueryFields<z.input<Schema>>
  : Record<never, never>;

type IfAny<Keys, Fields> = [Keys] extends [never] ? unknown : Fields;
type RequiredFields<Fields> = Record<never, never> extends Fields ? never : keyof Fields;

export type BodyOf<Route> = Route extends { body: infer Schema extends z.ZodType }
  ? z.input<Schema>
  : undefined;

export type RequestOptions<Route extends RouteSpec> = IfAny<
  PathParam<Route["path"]>,
  { params: Record<PathParam<Route["path"]>, string> }
> &
  IfAny<RequiredFields<QueryOf<Route>>, { query: QueryOf<Route> }> & {
    /** `tenant`: the tenant, if the token is valid for several. */
    query?: QueryOf<Route> & { tenant?: string };
    signal?: AbortSignal | undefined;
  } & (Route extends { body: z.ZodType } ? { body: BodyOf<Route> } : unknown) &
  (Route extends { ifMatch: true }
    ? {
        /** The revision that the caller has read. The hub rejects the request if it is outdated. */
        ifMatch?: number;
      }
    : unknown);

type Arguments<Options> =
  Record<never, never> extends Options ? [options?: Options] : [options: Options];

type Call<Routes extends RouteSpec, M extends Method> = <P extends Path<Routes, M>>(
  path: P,
  ...options: Arguments<RequestOptions<RouteAt<Routes, M, P>>>
) => Promise<ResponseOf<RouteAt<Routes, M, P>>>;

/** The paths of lists that the hub returns in pages. */
export type PagedPath<Routes extends RouteSpec> = {
  [P in Path<Routes, "get">]: ResponseOf<RouteAt<Routes, "get", P>> extends Page<unknown>
    ? P
    : never;
}[Path<Routes, "get">];

type ItemOf<Response> = Response extends Page<infer Item> ? Item : never;

export type Client<Routes extends RouteSpec> = { readonly [M in Method]: Call<Routes, M> } & {
  /** Reads the pages of a list until it ends, or until there are `maxItems`. */
  all<P extends PagedPath<Routes>>(
    path: P,
    ...options: Arguments<RequestOptions<RouteAt<Routes, "get", P>> & { maxItems?: number }>
  ): Promise<ItemOf<ResponseOf<RouteAt<Routes, "get", P>>>[]>;
};

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

/** Replaces the parameters of a path, encoded. */
export const pathWith = <P extends string>(path: P, params: Record<PathParam<P>, string>): string =>
  fillPath(path, (name) => encodeURIComponent(params[name as PathParam<P>]));

interface AnyOptions extends Omit<ApiRequest, "method" | "path"> {
  params?: Record<string, string>;
}

/** The maximum number of items of a page. */
const PAGE_SIZE = 100;

export function createClient<Routes extends RouteSpec>(send: SendRequest): Client<Routes> {
  const call =
    (method: ApiRequest["method"]) =>
    (path: string, { params = {}, ...options }: AnyOptions = {}) =>
      send({ method, path: pathWith(path, params), ...options });
  const get = call("GET");
  // The hub's responses have the types of the contract, because its handlers compile against it.
  return {
    get,
    post: call("POST"),
    put: call("PUT"),
    patch: call("PATCH"),
    delete: call("DELETE"),
    async all(
      path: string,
      {
        query,
        maxItems = Number.POSITIVE_INFINITY,
        ...options
      }: AnyOptions & { maxItems?: number } = {},
    ) {
      const items: unknown[] = [];
      let cursor: string | undefined;
      do {
        const pageQuery = { ...query, limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
        const page = (await get(path, { ...options, query: pageQuery })) as Page<unknown>;
        items.push(...page.items);
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined && items.length < maxItems);
      return items;
    },
  } as Client<Routes>;
}
