/**
 * Selects the params that are sent to a server. Servers accept only strings, so conditions with
 * operators, lists and blank params are omitted. This is safe: the hub matches every event itself.
 */
import { declaredParams } from "@signalbox/rules/flows/declared-params.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { looselyEquals } from "@signalbox/rules/match/loosely-equals.ts";
import type { OfferedTrigger } from "./model.ts";

export type ServerParams = Record<string, string>;

/** The params that are equal in all subscriptions. The server gets one set of params for all of them. */
export function commonParams(
  params: readonly JsonObject[],
  trigger: OfferedTrigger | undefined,
): ServerParams {
  const [first = {}, ...others] = params.map((record) => serverParams(record, trigger));
  return Object.fromEntries(
    Object.entries(first).filter(([name, value]) => others.every((other) => other[name] === value)),
  );
}

/**
 * Returns the defaults that the server may assume for the plain values of a subscription, because
 * `sent` lacks them: other subscriptions have other values.
 */
export function assumedDefaults(
  params: JsonObject,
  sent: ServerParams,
  trigger: OfferedTrigger | undefined,
): JsonObject {
  if (!trigger || trigger.omittedParams === "any") return {};
  const declared = declaredParams(trigger);
  const entries = Object.entries(serverParams(params, trigger)).flatMap(([name, value]) => {
    const { default: assumed = null } = declared.get(name)?.schema ?? {};
    const isAssumed = assumed !== null && assumed !== "" && !looselyEquals(assumed, value);
    return isAssumed && !Object.hasOwn(sent, name) ? [[name, assumed] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** Params that an offered trigger does not declare are omitted: a strict server would reject them. */
function serverParams(params: JsonObject, trigger: OfferedTrigger | undefined): ServerParams {
  const entries = Object.entries(params).flatMap(([name, param]) => {
    const text = plainText(param);
    const isDeclared = !trigger || declares(trigger, name);
    return text === undefined || !isDeclared ? [] : [[name, text] as const];
  });
  return Object.fromEntries(entries);
}

function plainText(param: Json): string | undefined {
  if (typeof param === "number" || typeof param === "boolean") return String(param);
  return typeof param === "string" && param.trim() !== "" ? param : undefined;
}

function declares({ paramsSchema, inputSchema }: OfferedTrigger, name: string): boolean {
  const { properties } = inputSchema as JsonObject;
  return (
    Object.hasOwn(paramsSchema, name) || (isObject(properties) && Object.hasOwn(properties, name))
  );
}
