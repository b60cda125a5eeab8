/**
 * Simplifies the schema of a tool for the form: resolves references within the schema, and removes null
 * from the types of values.
 */
import { resolvePointer } from "@signalbox/rules/flows/schema-errors.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";

/** Deeper subschemas are edited as JSON, because a schema may refer to itself. */
const MAX_DEPTH = 8;
/** Without a limit, references in a small schema could expand to millions of subschemas. */
const MAX_SUBSCHEMAS = 1_000;

export function simplifySchema(schema: JsonObject): JsonObject {
  let remaining = MAX_SUBSCHEMAS;
  const simplify = (subschema: JsonObject, depth: number): JsonObject => {
    remaining -= 1;
    if (depth === 0 || remaining < 0) return anyJson(subschema);
    const simplifyChild = (child: Json): Json =>
      isObject(child) ? simplify(child, depth - 1) : child;
    const { $ref, ...siblings } = subschema;
    if (typeof $ref === "string") {
      const target = resolvePointer(schema, $ref);
      return simplify(isObject(target) ? { ...target, ...siblings } : siblings, depth - 1);
    }
    const nonNull = withoutNull(subschema);
    if (nonNull) return simplify(nonNull, depth - 1);
    const { properties, items } = subschema;
    return {
      ...subschema,
      ...(isObject(properties) && {
        properties: Object.fromEntries(
          Object.entries(properties).map(([name, each]) => [name, simplifyChild(each)]),
        ),
      }),
      ...(items !== undefined && { items: simplifyChild(items) }),
    };
  };
  const { $defs: _, definitions: __, ...simplified } = simplify(schema, MAX_DEPTH);
  return simplified;
}

const isNull = (branch: Json): boolean => isObject(branch) && branch.type === "null";

/** Returns the subschema without null, if exactly one other type or branch remains. */
function withoutNull(subschema: JsonObject): JsonObject | undefined {
  const { type, anyOf, oneOf, default: fallback, ...rest } = subschema;
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

/** A schema for any JSON, with the title and the description of the subschema. */
const anyJson = ({ title, description }: JsonObject): JsonObject => ({
  ...(title !== undefined && { title }),
  ...(description !== undefined && { description }),
});
