/** Templates: that they can be read, and that what they speak of will be there. */
import { isObject, type JsonObject } from "../json.ts";
import { isWithin } from "../match/path.ts";
import { type ErrorCode, type Finding, onNode, type WarningCode } from "./finding.ts";
import { ancestorsOf, reachableThrough } from "./graph.ts";
import { writePath } from "./issues.ts";
import type { FlowNode } from "./model.ts";
import { type FoundReference, templatesIn } from "./references.ts";
import { partsOf, type Subject, skipOf } from "./subject.ts";
import { writeReference } from "./template.ts";

export interface ReferenceFindings {
  errors: Finding<ErrorCode>[];
  warnings: Finding<WarningCode>[];
}

export function checkReferences(subject: Subject): ReferenceFindings {
  const errors: Finding<ErrorCode>[] = [];
  const warnings: Finding<WarningCode>[] = [];
  const bySlug = new Map(subject.flow.nodes.map((node) => [node.slug, node]));
  const loops = loopsOf(subject);
  for (const node of subject.flow.nodes) {
    const found = templatesIn(node.parameters, skipOf(subject.definition(node)));
    for (const { keys, message } of found.errors) {
      const path = writePath(keys);
      errors.push(onNode("template_syntax", node, `${path}: ${message}`, path));
    }
    const before = ancestorsOf(subject.graph, node.id);
    for (const reference of found.references) {
      const path = writePath(reference.keys);
      const problem = problemOf(subject, node, reference, { bySlug, before, loops });
      if (!problem) continue;
      const message = `${path}: {{ ${writeReference(reference)} }} ${problem.message}`;
      if (isWarning(problem.code)) warnings.push(onNode(problem.code, node, message, path));
      else errors.push(onNode(problem.code, node, message, path));
    }
  }
  return { errors, warnings };
}

interface Surroundings {
  bySlug: ReadonlyMap<string, FlowNode>;
  before: ReadonlySet<string>;
  /** By the names that they give: the nodes in which those may be used. */
  loops: ReadonlyMap<string, ReadonlySet<string>>;
}

type Doubt = Extract<WarningCode, "reference_not_always" | "no_such_parameter">;

interface Problem {
  code: ErrorCode | Doubt;
  message: string;
}

const isWarning = (code: Problem["code"]): code is Doubt =>
  code === "reference_not_always" || code === "no_such_parameter";

function problemOf(
  subject: Subject,
  node: FlowNode,
  { root, path, keys, optional }: FoundReference,
  { bySlug, before, loops }: Surroundings,
): Problem | undefined {
  if (root === "trigger") return optional ? undefined : doubtOf(subject, node, path[0]);
  if (root === "secrets") {
    if (path.length !== 1)
      return { code: "secret_not_allowed", message: "must name one secret, as secrets.KEY" };
    const allowed = subject.definition(node)?.secretFields.some((field) => isWithin(keys, field));
    return allowed
      ? undefined
      : { code: "secret_not_allowed", message: "may not be used here: it could be read back" };
  }
  if (root === "item" || root === "index")
    return loops.get(root)?.has(node.id)
      ? undefined
      : { code: "not_in_loop", message: "is only known inside of a loop" };

  const other = bySlug.get(root);
  if (!other) return { code: "dangling_reference", message: `names no node: there is no ${root}` };
  if (other.id === node.id)
    return { code: "reference_not_before", message: "speaks of the node itself" };
  if (!before.has(other.id))
    return {
      code: "reference_not_before",
      message: `cannot be there: ${other.name} does not run before ${node.name}`,
    };
  if (optional) return undefined;
  const without = subject.triggers.filter((trigger) => {
    const reach = subject.reach(trigger);
    return reach.has(node.id) && !reach.has(other.id);
  });
  if (without.length === 0) return undefined;
  const names = without.map(({ name }) => name).join(", ");
  const instead = subject.definition(other)?.kind === "trigger" ? "write trigger for it, or " : "";
  return {
    code: "reference_not_always",
    message: `is not there when ${names} starts the run; ${instead}mark it with ?`,
  };
}

/** Of `trigger.field`, where none of the triggers that lead to the node gives that. */
function doubtOf(
  subject: Subject,
  node: FlowNode,
  field: string | number | undefined,
): Problem | undefined {
  if (typeof field !== "string") return undefined;
  const known = subject.triggers
    .filter((trigger) => subject.reach(trigger).has(node.id))
    .map((trigger) => fieldsOf(subject, trigger));
  const isDoubtful = ({ fields }: { fields: readonly string[] | undefined }) =>
    fields !== undefined && !fields.includes(field);
  if (known.length === 0 || !known.every(isDoubtful)) return undefined;
  const has = known.map(
    ({ name, fields = [] }) => `${name} has ${fields.join(", ") || "no parameters"}`,
  );
  return {
    code: "no_such_parameter",
    message: `is what no trigger gives: ${has.join("; ")}`,
  };
}

/** Undefined where it can be anything. */
function fieldsOf(subject: Subject, trigger: FlowNode) {
  const { name } = trigger;
  const schema = subject.definition(trigger)?.outputSchema(partsOf(trigger).config);
  const isClosed = isObject(schema?.properties) && schema.additionalProperties === false;
  return { name, fields: isClosed ? Object.keys(schema.properties as JsonObject) : undefined };
}

/** What a loop repeats: all that it reaches through a port, but for what it leads to afterwards too. */
function bodyOf({ graph }: Subject, id: string, port: string): Set<string> {
  const body = reachableThrough(graph, id, port);
  for (const { sourceHandle } of graph.outgoing(id))
    if (sourceHandle !== port)
      for (const after of reachableThrough(graph, id, sourceHandle)) body.delete(after);
  return body;
}

function loopsOf(subject: Subject): Map<string, Set<string>> {
  const loops = new Map<string, Set<string>>();
  for (const node of subject.flow.nodes)
    for (const [port, names] of Object.entries(subject.definition(node)?.locals ?? {})) {
      const inside = bodyOf(subject, node.id, port);
      for (const name of names) loops.set(name, new Set([...inside, ...(loops.get(name) ?? [])]));
    }
  return loops;
}
