/**
 * The schema of a tool as the form draws it: references within the schema are resolved, and a value that
 * may be null is drawn like one that may be left out.
 */
import { resolvePointer } from "@signalbox/rules/flows/schema-errors.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";

/** Deeper parts are edited as JSON; a schema may contain itself. */
const MAX_DEPTH = 8;
/** A small schema can refer to itself so often that it would have millions of parts. */
const MAX_PARTS = 1_000;

export function plainSchema(schema: JsonObject): JsonObject {
  let left = MAX_PARTS;
  const plain = (part: JsonObject, depth: number): JsonObject => {
    left -= 1;
    if (depth === 0 || left < 0) return withoutShape(part);
    const inner = (each: Json): Json => (isObject(each) ? plain(each, depth - 1) : each);
    const { $ref, ...own } = part;
    if (typeof $ref === "string") {
      const target = resolvePointer(schema, $ref);
      return plain(isObject(target) ? { ...target, ...own } : own, depth - 1);
    }
    const branch = onlyBranch(part);
    if (branch) return plain(branch, depth - 1);
    const { properties, items } = part;
    return {
      ...part,
      ...(isObject(properties) && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, each]) => [name, inner(each)]),
        ),
      }),
      ...(items !== undefined && { items: inner(items) }),
    };
  };
  const { $defs: _, definitions: __, ...drawn } = plain(schema, MAX_DEPTH);
  return drawn;
}

const isNull = (branch: Json): boolean => isObject(branch) && branch.type === "null";

/** What the part may be besides null, if that is one thing. */
function onlyBranch(part: JsonObject): JsonObject | undefined {
  const { type, anyOf, oneOf, default: fallback, ...rest } = part;
  const own: JsonObject =
    fallback === undefined || fallback === null ? rest : { ...rest, default: fallback };
  if (Array.isArray(type)) {
    const [only, ...others] = type.filter((each) => each !== "null");
    return only !== undefined && others.length === 0 ? { ...own, type: only } : undefined;
  }
  const branches = anyOf ?? oneOf;
  if (!Array.isArray(branches)) return undefined;
  const [only, ...others] = branches.filter((branch) => !isNull(branch));
  return isObject(only) && others.length === 0 ? { ...only, ...own } : undefined;
}

/** Any JSON, with the words about it. */
const withoutShape = ({ title, description }: JsonObject): JsonObject => ({
  ...(title !== undefined && { title }),
  ...(description !== undefined && { description }),
});
