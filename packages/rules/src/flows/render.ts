/**
 * Renders templates. A reference into large JSON cannot be resolved here: it is passed to
 * `findSelected`. The caller resolves it in the job `select`, and then renders the config again.
 */
import type { JsonObject } from "../json.ts";
import { jsonBytes, type SizeCache } from "../json-bytes.ts";
import { memberOf } from "../json-member.ts";
import { LargeJson, type MixedJson, type MixedObject } from "../large-json.ts";
import { isWithin } from "../match/path.ts";
import { writeShared } from "../write-shared.ts";
import { Permanent } from "./errors.ts";
import { writePath } from "./issues.ts";
import type { NodeDefinition, Scope } from "./node-type.ts";
import {
  parseTemplate,
  type Reference,
  soleReference,
  type Template,
  writeReference,
} from "./template.ts";
import { mapTexts } from "./walk.ts";

type Secrets = Readonly<Record<string, string>>;

/** A path into large JSON. */
export interface LargeReference {
  large: LargeJson;
  path: readonly (string | number)[];
}

/** The value of a `LargeReference`. */
export interface Selected {
  value: MixedJson | undefined;
  /** The steps of the path that were taken. A step to a value that does not exist counts too. */
  reached: number;
}
/** Returns undefined if the reference is not resolved yet. */
export type FindSelected = (reference: LargeReference) => Selected | undefined;

/** The limit for all values that templates insert into the texts of one config. */
const MAX_TEXT_BYTES = 8_000_000;

/** Writes values into the texts of one config. Measures and serializes each value only once. */
function createTextWriter() {
  const sizes: SizeCache = new Map();
  const serialized = new Map<MixedJson, string>();
  let left = MAX_TEXT_BYTES;
  return {
    /** Throws if the values exceed the limit, before the last one is serialized. */
    write(reference: Reference, value: MixedJson | undefined): string {
      left -= jsonBytes(value, left, undefined, sizes);
      if (left < 0) throw textTooLarge(reference);
      if (value === undefined || typeof value === "string") return value ?? "";
      return writeShared(value, serialized);
    },
  };
}

/** Throws `Permanent` if a reference has no value and is not optional. */
export function renderTemplate(
  template: Template,
  scope: Scope,
  secrets: Secrets = {},
  findSelected: FindSelected = () => undefined,
  textWriter = createTextWriter(),
): MixedJson {
  const [error] = template.errors;
  if (error) throw new Permanent(`Template: ${error.message}.`, { code: "template_syntax" });
  const values = { scope, secrets, findSelected };
  const sole = soleReference(template);
  if (sole) return resolve(sole, values) ?? null;
  return template.parts
    .map((part) =>
      part.kind === "text" ? part.text : textWriter.write(part, resolve(part, values)),
    )
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
  findSelected?: FindSelected,
): MixedObject {
  const textWriter = createTextWriter();
  return mapTexts<MixedJson>(config, (text, keys) => {
    if (!text.includes("{{") || rawFields.some((path) => isWithin(keys, path))) return text;
    const template = parseTemplate(text);
    const field = writePath(keys);
    if (template.parts.some(isSecret) && !secretFields.some((path) => isWithin(keys, path)))
      throw new Permanent(`${field}: secrets are not allowed in this field.`, {
        code: "secret_not_allowed",
      });
    try {
      return renderTemplate(template, scope, secrets, findSelected, textWriter);
    } catch (error) {
      if (!(error instanceof Permanent)) throw error;
      const { code, details } = error;
      throw new Permanent(`${field}: ${error.message}`, { code, details });
    }
  }) as MixedObject;
}

const isSecret = (part: Template["parts"][number]): boolean =>
  part.kind === "reference" && part.root === "secrets";

const textTooLarge = (reference: Reference): Permanent =>
  new Permanent(
    `The text exceeds the limit of ${MAX_TEXT_BYTES / 1_000_000} MB at {{ ${writeReference(reference)} }}. Insert less data.`,
    { code: "input_too_large" },
  );

interface Values {
  scope: Scope;
  secrets: Secrets;
  findSelected: FindSelected;
}

/** Returns undefined only for an optional reference, and for a reference that is not selected yet. */
function resolve(reference: Reference, values: Values): MixedJson | undefined {
  const { root, path, optional } = reference;
  let value = lookUp(root, values);
  let reached = 0;
  while (value !== undefined && !(value instanceof LargeJson) && reached < path.length)
    value = memberOf(value, path[reached++] as string | number);
  if (value instanceof LargeJson && reached < path.length) {
    const selected = values.findSelected({ large: value, path: path.slice(reached) });
    if (!selected) return undefined;
    value = selected.value;
    // As in the loop above, the step to a value that does not exist counts.
    reached += selected.reached;
  }
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

function lookUp(root: string, { scope, secrets }: Values): MixedJson | undefined {
  if (root === "trigger" || root === "item" || root === "index") return scope[root];
  if (root === "secrets") return secrets;
  return Object.hasOwn(scope.nodes, root) ? scope.nodes[root] : undefined;
}
