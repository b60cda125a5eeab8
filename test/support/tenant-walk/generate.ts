/** Generates the requests of the walk from the OpenAPI document and from `tools/list`. */
import {
  type Filled,
  filledMethods,
  filledRoutes,
  filledTools,
  optionalArguments,
  optionalProperties,
  otherRoutes,
  pathIds,
  plainParameters,
} from "./filled-requests.ts";
import { type HubRequest, rpc } from "./hub-client.ts";
import type { Ids } from "./tenants.ts";

/** A request that can be made with the ids of any tenant. */
export interface WalkedRequest {
  name: string;
  request(ids: Ids): HubRequest;
  /** Whether the parameter `tenant` is allowed. */
  hasTenant: boolean;
}

interface Schema {
  properties?: Record<string, unknown>;
  additionalProperties?: unknown;
}

export interface OpenApi {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters: { name: string; in: string }[];
        requestBody?: { content: Record<string, { schema: Schema }> };
      }
    >
  >;
}

export interface ListedTool {
  name: string;
  inputSchema: Schema;
}

const FILE = "test/support/tenant-walk/filled-requests.ts";

/** The requests to the routes of the document. Throws if it cannot fill a parameter of any. */
export function requestsOf({ paths }: OpenApi): WalkedRequest[] {
  const missing: string[] = [];
  const walked: WalkedRequest[] = [];
  const names = new Set<string>();
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { parameters, requestBody }] of Object.entries(methods)) {
      const name = `${method.toUpperCase()} ${path}`;
      names.add(name);
      if (name in otherRoutes) continue;
      const fill = filledRoutes[name] ?? ((): Filled => ({}));
      const { query = {}, body } = fill(NO_IDS);
      const known = new Set([...plainParameters, ...Object.keys(query)]);
      for (const parameter of parameters)
        if (parameter.in === "path" && !(parameter.name in pathIds))
          missing.push(`${name}: add the path parameter "${parameter.name}" to pathIds`);
        else if (parameter.in !== "path" && !known.has(parameter.name))
          missing.push(`${name}: add "${parameter.name}" to its query in filledRoutes`);
      const schema = requestBody?.content["application/json"]?.schema;
      if (requestBody && body === undefined) missing.push(`${name}: add its body to filledRoutes`);
      const filled = new Set([
        ...Object.keys((body ?? {}) as object),
        ...(optionalProperties[name] ?? []),
      ]);
      for (const property of Object.keys(schema?.properties ?? {}))
        if (body !== undefined && !filled.has(property) && !plainParameters.has(property))
          missing.push(`${name}: add "${property}" to its body in filledRoutes`);
      walked.push({
        name,
        hasTenant: parameters.some(
          (parameter) => parameter.name === "tenant" && parameter.in === "query",
        ),
        request(ids) {
          const { query = {}, body } = fill(ids);
          const filledPath = path.replace(/\{(\w+)\}/g, (_, parameter) =>
            encodeURIComponent(pathIds[parameter]?.(ids) ?? ""),
          );
          const search = new URLSearchParams(query).toString();
          return {
            method: method.toUpperCase(),
            path: search === "" ? filledPath : `${filledPath}?${search}`,
            ...(body !== undefined && { body }),
          };
        },
      });
    }
  for (const table of [filledRoutes, optionalProperties, otherRoutes])
    for (const name of Object.keys(table))
      if (!names.has(name)) missing.push(`${name}: remove it, there is no such route`);
  assertComplete(missing);
  return walked.toSorted(byEffect);
}

/** The calls of the listed tools. Throws if it cannot fill an argument of any. */
export function toolCallsOf(tools: readonly ListedTool[]): WalkedRequest[] {
  const missing: string[] = [];
  for (const { name, inputSchema } of tools) {
    const known = new Set([
      ...plainParameters,
      ...Object.keys(filledTools[name]?.(NO_IDS) ?? {}),
      ...(optionalArguments[name] ?? []),
    ]);
    for (const property of Object.keys(inputSchema.properties ?? {}))
      if (!known.has(property))
        missing.push(`the tool ${name}: add "${property}" to its arguments in filledTools`);
  }
  for (const name of Object.keys(filledTools))
    if (!tools.some((tool) => tool.name === name))
      missing.push(`the tool ${name}: remove it, there is no such tool`);
  assertComplete(missing);
  return [
    ...tools.map(({ name }) => ({
      name: `the tool ${name}`,
      hasTenant: true,
      request: (ids: Ids) =>
        rpc("/mcp", "tools/call", { name, arguments: filledTools[name]?.(ids) ?? {} }),
    })),
    ...Object.entries(filledMethods).map(([name, request]) => ({
      name: `the method ${name}`,
      hasTenant: true,
      request,
    })),
  ];
}

function assertComplete(missing: readonly string[]): void {
  if (missing.length > 0)
    throw new Error(
      `The walk with another tenant's ids cannot fill all parameters. In ${FILE}:\n${missing.join("\n")}`,
    );
}

/** To find out which parameters are filled. */
const NO_IDS = new Proxy({}, { get: () => "ID" }) as Ids;

/** The ids that a request contains. */
export function idsIn({ request }: WalkedRequest, ids: Ids): (keyof Ids)[] {
  const used = new Set<keyof Ids>();
  request(
    new Proxy(ids, {
      get(target, name) {
        used.add(name as keyof Ids);
        return target[name as keyof Ids];
      },
    }),
  );
  return [...used];
}

const METHODS = ["GET", "DELETE", "PATCH", "PUT", "POST"];

/** Routes that create something come last: the tenant would own what it has created with a foreign id. */
function byEffect(one: WalkedRequest, other: WalkedRequest): number {
  const order = ({ name }: WalkedRequest) => METHODS.indexOf(name.split(" ")[0] ?? "");
  return order(one) - order(other) || byLength(one, other);
}

/** Parts come before what contains them. */
export const byLength = (one: WalkedRequest, other: WalkedRequest): number =>
  other.name.length - one.name.length || one.name.localeCompare(other.name);
