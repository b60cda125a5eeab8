/** Checks the syntax of templates, and that their references can have a value when the node runs. */
import { isWithin } from "../match/path.ts";
import { type ErrorCode, type Finding, fieldFinding, type WarningCode } from "./finding.ts";
import { ancestorsOf, reachableThrough } from "./graph.ts";
import { writePath } from "./issues.ts";
import type { FlowNode } from "./model.ts";
import { type FoundReference, templatesIn } from "./references.ts";
import { type ResolvedFlow, skipRawFields } from "./resolved-flow.ts";
import { schemaAt } from "./schema-path.ts";
import { writeReference } from "./template.ts";

export interface ReferenceFindings {
  errors: Finding<ErrorCode>[];
  warnings: Finding<WarningCode>[];
}

export function checkReferences(resolved: ResolvedFlow): ReferenceFindings {
  const errors: Finding<ErrorCode>[] = [];
  const warnings: Finding<WarningCode>[] = [];
  const bySlug = new Map(resolved.flow.nodes.map((node) => [node.slug, node]));
  const loops = loopsOf(resolved);
  for (const node of resolved.flow.nodes) {
    const templates = templatesIn(node.parameters, skipRawFields(resolved.definition(node)));
    for (const { keys, message } of templates.errors) {
      const path = writePath(keys);
      errors.push(fieldFinding("template_syntax", node, path, message));
    }
    const ancestors = ancestorsOf(resolved.graph, node.id);
    for (const reference of templates.references) {
      const path = writePath(reference.keys);
      const problem = findProblem(resolved, node, reference, { bySlug, ancestors, loops });
      if (!problem) continue;
      const text = `{{ ${writeReference(reference)} }} ${problem.message}`;
      if (isWarning(problem.code)) warnings.push(fieldFinding(problem.code, node, path, text));
      else errors.push(fieldFinding(problem.code, node, path, text));
    }
  }
  return { errors, warnings };
}

interface ReferenceContext {
  bySlug: ReadonlyMap<string, FlowNode>;
  /** The ids of the nodes that can run before the node. */
  ancestors: ReadonlySet<string>;
  /** For each variable of loops, such as `item`: the ids of the nodes that may use it. */
  loops: ReadonlyMap<string, ReadonlySet<string>>;
}

type ReferenceWarning = Extract<
  WarningCode,
  "reference_not_always" | "no_such_parameter" | "no_such_field"
>;

interface Problem {
  code: ErrorCode | ReferenceWarning;
  message: string;
}

const isWarning = (code: Problem["code"]): code is ReferenceWarning =>
  code === "reference_not_always" || code === "no_such_parameter" || code === "no_such_field";

function findProblem(
  resolved: ResolvedFlow,
  node: FlowNode,
  { root, path, keys, optional }: FoundReference,
  { bySlug, ancestors, loops }: ReferenceContext,
): Problem | undefined {
  if (root === "trigger") return optional ? undefined : checkTriggerField(resolved, node, path);
  if (root === "secrets") {
    if (path.length !== 1)
      return { code: "secret_not_allowed", message: "must name one secret, such as secrets.KEY" };
    const allowed = resolved.definition(node)?.secretFields.some((field) => isWithin(keys, field));
    return allowed
      ? undefined
      : {
          code: "secret_not_allowed",
          message: "is not allowed in this field: the value would be readable",
        };
  }
  if (root === "item" || root === "index")
    return loops.get(root)?.has(node.id)
      ? undefined
      : { code: "not_in_loop", message: "is defined only inside a loop" };

  const referenced = bySlug.get(root);
  if (!referenced)
    return { code: "dangling_reference", message: `refers to the unknown node ${root}` };
  if (referenced.id === node.id)
    return { code: "reference_not_before", message: "refers to the node itself" };
  if (!ancestors.has(referenced.id))
    return {
      code: "reference_not_before",
      message: `is never available: ${referenced.name} does not run before ${node.name}`,
    };
  if (optional) return undefined;
  const triggersWithout = resolved.triggers.filter((trigger) => {
    const reach = resolved.reach(trigger);
    return reach.has(node.id) && !reach.has(referenced.id);
  });
  if (triggersWithout.length === 0) return checkOutputField(resolved, referenced, path);
  const names = triggersWithout.map(({ name }) => name).join(", ");
  const alternative =
    resolved.definition(referenced)?.kind === "trigger" ? "write trigger instead, or " : "";
  return {
    code: "reference_not_always",
    message: `is missing when ${names} starts the run; ${alternative}mark it as optional with ?`,
  };
}

/** Returns a problem if the output of the node is known and has no such field. */
function checkOutputField(
  resolved: ResolvedFlow,
  referenced: FlowNode,
  path: readonly (string | number)[],
): Problem | undefined {
  // After a failure, the output is `{ error }`.
  if (path[0] === "error") return undefined;
  const schema = resolved.outputSchema(referenced);
  const field = schema && schemaAt(schema, path);
  if (!field || "schema" in field) return undefined;
  const { missing, allowed } = field;
  const fields = allowed.length === 0 ? "no fields" : allowed.join(", ");
  return {
    code: "no_such_field",
    message: `has no field ${missing}: ${referenced.name} returns ${fields}`,
  };
}

/** Returns a problem if a trigger that leads to the node does not provide the field. */
function checkTriggerField(
  resolved: ResolvedFlow,
  node: FlowNode,
  path: readonly (string | number)[],
): Problem | undefined {
  const triggers = resolved.triggers.filter((trigger) => resolved.reach(trigger).has(node.id));
  const without = triggers.flatMap((trigger) => {
    const schema = resolved.outputSchema(trigger);
    const field = schema && schemaAt(schema, path.slice(0, 1));
    return field && "missing" in field ? [{ name: trigger.name, ...field }] : [];
  });
  if (without.length === 0) return undefined;
  const fields = without
    .map(({ name, allowed }) => `${name} has ${allowed.join(", ") || "no parameters"}`)
    .join("; ");
  const names = without.map(({ name }) => name).join(", ");
  return {
    code: "no_such_parameter",
    message:
      without.length === triggers.length
        ? `is not provided by a trigger: ${fields}`
        : `is missing when ${names} starts the run: ${fields}; mark it as optional with ?`,
  };
}

/** Returns the nodes inside a loop: reachable through this port of the loop, but through no other port. */
function bodyOf({ graph }: ResolvedFlow, id: string, port: string): Set<string> {
  const body = reachableThrough(graph, id, port);
  for (const { sourceHandle } of graph.outgoing(id))
    if (sourceHandle !== port)
      for (const after of reachableThrough(graph, id, sourceHandle)) body.delete(after);
  return body;
}

/** Returns, for each variable of loops, the ids of the nodes inside the loops that define it. */
function loopsOf(resolved: ResolvedFlow): Map<string, Set<string>> {
  const loops = new Map<string, Set<string>>();
  for (const node of resolved.flow.nodes)
    for (const [port, names] of Object.entries(resolved.definition(node)?.locals ?? {})) {
      const inside = bodyOf(resolved, node.id, port);
      for (const name of names) loops.set(name, new Set([...inside, ...(loops.get(name) ?? [])]));
    }
  return loops;
}
