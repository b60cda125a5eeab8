/** Generates the requests of the walk from the OpenAPI document and from the response to `tools/list`. */

import { type HubRequest, rpcRequest } from "./hub-client.ts";
import {
  excludedRoutes,
  methodRequests,
  optionalArguments,
  optionalProperties,
  parametersWithoutIds,
  pathIds,
  type RouteInput,
  routeInputs,
  toolArguments,
} from "./request-inputs.ts";
import type { Ids } from "./tenants.ts";

/** A request that can be created with the ids of any tenant. */
export interface RequestTemplate {
  name: string;
  request(ids: Ids): HubRequest;
  /** Whether the request accepts the query parameter `tenant`. */
  acceptsTenant: boolean;
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

const INPUTS_FILE = "test/support/tenant-walk/request-inputs.ts";

/** Generates the requests to the routes of the document. Throws if a parameter of a route cannot be filled. */
export function generateRouteRequests({ paths }: OpenApi): RequestTemplate[] {
  const problems: string[] = [];
  const templates: RequestTemplate[] = [];
  const routeNames = new Set<string>();
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { parameters, requestBody }] of Object.entries(methods)) {
      const name = `${method.toUpperCase()} ${path}`;
      routeNames.add(name);
      if (name in excludedRoutes) continue;
      const fill = routeInputs[name] ?? ((): RouteInput => ({}));
      const { query = {}, body } = fill(PLACEHOLDER_IDS);
      const filledParameters = new Set([...parametersWithoutIds, ...Object.keys(query)]);
      for (const parameter of parameters)
        if (parameter.in === "path" && !(parameter.name in pathIds))
          problems.push(`${name}: add the path parameter "${parameter.name}" to pathIds`);
        else if (parameter.in !== "path" && !filledParameters.has(parameter.name))
          problems.push(`${name}: add "${parameter.name}" to its query in routeInputs`);
      const schema = requestBody?.content["application/json"]?.schema;
      if (requestBody && body === undefined) problems.push(`${name}: add its body to routeInputs`);
      const filledProperties = new Set([
        ...Object.keys((body ?? {}) as object),
        ...(optionalProperties[name] ?? []),
      ]);
      for (const property of Object.keys(schema?.properties ?? {}))
        if (
          body !== undefined &&
          !filledProperties.has(property) &&
          !parametersWithoutIds.has(property)
        )
          problems.push(`${name}: add "${property}" to its body in routeInputs`);
      templates.push({
        name,
        acceptsTenant: parameters.some(
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
  for (const table of [routeInputs, optionalProperties, excludedRoutes])
    for (const name of Object.keys(table))
      if (!routeNames.has(name))
        problems.push(`${name}: remove it, because there is no such route`);
  assertComplete(problems);
  return templates.toSorted(compareByMethod);
}

/** Generates the calls of tools and other MCP requests. Throws if an argument of a tool cannot be filled. */
export function generateToolCalls(tools: readonly ListedTool[]): RequestTemplate[] {
  const problems: string[] = [];
  for (const { name, inputSchema } of tools) {
    const filledArguments = new Set([
      ...parametersWithoutIds,
      ...Object.keys(toolArguments[name]?.(PLACEHOLDER_IDS) ?? {}),
      ...(optionalArguments[name] ?? []),
    ]);
    for (const property of Object.keys(inputSchema.properties ?? {}))
      if (!filledArguments.has(property))
        problems.push(`the tool ${name}: add "${property}" to its arguments in toolArguments`);
  }
  for (const name of Object.keys(toolArguments))
    if (!tools.some((tool) => tool.name === name))
      problems.push(`the tool ${name}: remove it, because there is no such tool`);
  assertComplete(problems);
  return [
    ...tools.map(({ name }) => ({
      name: `the tool ${name}`,
      acceptsTenant: true,
      request: (ids: Ids) =>
        rpcRequest("/mcp", "tools/call", { name, arguments: toolArguments[name]?.(ids) ?? {} }),
    })),
    ...Object.entries(methodRequests).map(([name, request]) => ({
      name: `the method ${name}`,
      acceptsTenant: true,
      request,
    })),
  ];
}

function assertComplete(problems: readonly string[]): void {
  if (problems.length > 0)
    throw new Error(
      `The requests with another tenant's ids do not fill all parameters. Change ${INPUTS_FILE}:\n${problems.join("\n")}`,
    );
}

/** For calls that need only the names of the filled parameters, not their values. */
const PLACEHOLDER_IDS = new Proxy({}, { get: () => "ID" }) as Ids;

/** Returns the names of the ids that a request contains. */
export function findUsedIds({ request }: RequestTemplate, ids: Ids): (keyof Ids)[] {
  const usedIds = new Set<keyof Ids>();
  request(
    new Proxy(ids, {
      get(target, name) {
        usedIds.add(name as keyof Ids);
        return target[name as keyof Ids];
      },
    }),
  );
  return [...usedIds];
}

const METHOD_ORDER = ["GET", "DELETE", "PATCH", "PUT", "POST"];

/**
 * Sorts routes that create data last. A tenant that has created data with a foreign id owns that id, so later
 * requests with it would succeed.
 */
function compareByMethod(left: RequestTemplate, right: RequestTemplate): number {
  const order = ({ name }: RequestTemplate) => METHOD_ORDER.indexOf(name.split(" ")[0] ?? "");
  return order(left) - order(right) || compareByNameLength(left, right);
}

/** Sorts longer names first, so that a part is deleted before its container, such as a node before its flow. */
export const compareByNameLength = (left: RequestTemplate, right: RequestTemplate): number =>
  right.name.length - left.name.length || left.name.localeCompare(right.name);
