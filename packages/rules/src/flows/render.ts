/** Renders templates. */
import type { Json, JsonObject } from "../json.ts";
import { memberOf } from "../json-member.ts";
import { isWithin } from "../match/path.ts";
import { Permanent } from "./errors.ts";
import { writePath } from "./issues.ts";
import type { NodeDefinition } from "./node-type.ts";
import {
  parseTemplate,
  type Reference,
  soleReference,
  type Template,
  writeReference,
} from "./template.ts";
import { mapTexts } from "./walk.ts";

/** The values that templates and code can use, except secrets. */
export interface Scope {
  trigger?: Json;
  /** Outputs by slug, in their own object because a slug can have any name. */
  nodes: Readonly<Record<string, Json>>;
  /** Only inside a loop. */
  item?: Json;
  index?: Json;
}
type Secrets = Readonly<Record<string, string>>;

/** Throws `Permanent` if a reference has no value and is not optional. */
export function renderTemplate(template: Template, scope: Scope, secrets: Secrets = {}): Json {
  const [error] = template.errors;
  if (error) throw new Permanent(`Template: ${error.message}.`, { code: "template_syntax" });
  const sole = soleReference(template);
  if (sole) return resolve(sole, scope, secrets) ?? null;
  return template.parts
    .map((part) => (part.kind === "text" ? part.text : asText(resolve(part, scope, secrets))))
    .join("");
}

/**
 * Renders a node's config, which is its `parameters` without `settings`. Secrets are allowed only in
 * the `secretFields` of the type. The `rawFields` are not rendered.
 */
export function renderConfig(
  config: JsonObject,
  { secretFields, rawFields }: Pick<NodeDefinition, "secretFields" | "rawFields">,
  scope: Scope,
  secrets: Secrets,
): JsonObject {
  return mapTexts(config, (text, keys) => {
    if (!text.includes("{{") || rawFields.some((path) => isWithin(keys, path))) return text;
    const template = parseTemplate(text);
    const field = writePath(keys);
    if (template.parts.some(isSecret) && !secretFields.some((path) => isWithin(keys, path)))
      throw new Permanent(`${field}: secrets are not allowed in this field.`, {
        code: "secret_not_allowed",
      });
    try {
      return renderTemplate(template, scope, secrets);
    } catch (error) {
      if (!(error instanceof Permanent)) throw error;
      const { code, details } = error;
      throw new Permanent(`${field}: ${error.message}`, { code, details });
    }
  }) as JsonObject;
}

const isSecret = (part: Template["parts"][number]): boolean =>
  part.kind === "reference" && part.root === "secrets";

const asText = (value: Json | undefined): string =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);

/** Returns undefined only for an optional reference. */
function resolve(reference: Reference, scope: Scope, secrets: Secrets): Json | undefined {
  const { root, path, optional } = reference;
  let value = lookUp(root, scope, secrets);
  let reached = 0;
  while (value !== undefined && reached < path.length)
    value = memberOf(value, path[reached++] as string | number);
  if (value !== undefined || optional) return value;
  const whole = writeReference(reference);
  const missing = writeReference({ root, path: path.slice(0, reached) });
  throw new Permanent(
    missing === whole
      ? `{{ ${whole} }} has no value.`
      : `{{ ${whole} }} has no value: there is no ${missing}.`,
    { code: "unresolved_reference", details: { path: whole } },
  );
}

function lookUp(root: string, scope: Scope, secrets: Secrets): Json | undefined {
  if (root === "trigger" || root === "item" || root === "index") return scope[root];
  if (root === "secrets") return secrets;
  return Object.hasOwn(scope.nodes, root) ? scope.nodes[root] : undefined;
}
