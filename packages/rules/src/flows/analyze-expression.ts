/**
 * Static analysis of a JSONata expression: its syntax error, the nodes whose outputs it reads, and
 * whether it reads secrets. The analysis follows paths, blocks, variables, `$lookup` and functions that
 * the expression defines. It does not follow a value through other functions, such as
 * `$merge([nodes, …])`. Parsing can take unbounded time, so it runs in the sandbox, which has a deadline.
 */
import { isObject, type Json, type JsonObject } from "../json.ts";
import { compileExpression, describeError } from "../match/expression.ts";

interface NodeReference {
  slug: string;
  /** The index after the slug and its closing quote. */
  end: number;
}

export interface ExpressionAnalysis {
  /** Why the expression cannot be evaluated. */
  problem?: string;
  nodes: readonly NodeReference[];
  readsSecrets: boolean;
}

/** Returns undefined if the expression was not analyzed. */
export type FindAnalysis = (expression: string) => ExpressionAnalysis | undefined;

/** The static type of a value. `root` is the document on which the expression is evaluated. */
type Value = "root" | "nodes" | "other" | Text | Callable;
interface Text {
  text: string;
  end: number;
}
type Callable = (args: readonly Value[], context: Value) => Value;

interface VariableScope {
  /** The variables of this scope, by name. */
  variables: Map<string, Value>;
  outer?: VariableScope;
}

/** Parts of a syntax node that are evaluated on the value of the node. */
const POSTFIX_PARTS = ["stages", "predicate", "group"];

/** Limits the visits of function bodies, since functions can be recursive. */
const MAX_CALLS = 20;

export function analyzeExpression(text: string): ExpressionAnalysis {
  let ast: unknown;
  try {
    ast = compileExpression(text).ast();
  } catch (error) {
    return { problem: describeError(error), nodes: [], readsSecrets: false };
  }
  try {
    // The conversion to JSON drops regular expressions, which cannot refer to a node.
    return findReferences(JSON.parse(JSON.stringify(ast)) as Json);
  } catch {
    // The tree is nested too deeply for this recursion. The expression itself is valid.
    return { nodes: [], readsSecrets: false };
  }
}

function findReferences(ast: Json): ExpressionAnalysis {
  const references = new Map<number, NodeReference>();
  let readsSecrets = false;
  let calls = 0;

  const readMember = (value: Value, name: string, end: number): Value => {
    if (value === "nodes") references.set(end, { slug: name, end });
    if (value !== "root") return "other";
    readsSecrets ||= name === "secrets";
    return name === "nodes" ? "nodes" : "other";
  };

  /** `$lookup("slug")` without a second argument reads from the context. */
  const lookup: Callable = (args, context) => {
    const [key, object = context] = args.toReversed();
    return typeof key === "object" ? readMember(object, key.text, key.end) : "other";
  };

  /** Visits the body once with unknown arguments, and again for each call with known arguments. */
  const defineFunction = (visitBody: (args: readonly Value[]) => Value): Callable => {
    const defaultResult = visitBody([]);
    return (args) =>
      args.every((arg) => arg === "other") || ++calls > MAX_CALLS ? defaultResult : visitBody(args);
  };

  /** `firstArgs` precede the written arguments: `x ~> $f(y)` calls `$f(x, y)`. */
  const visitCall = (
    part: JsonObject,
    firstArgs: Value[],
    context: Value,
    scope: VariableScope,
  ): Value => {
    const isCall = part.type === "function";
    const callee = visit(isCall ? part.procedure : part, context, scope);
    const args = isCall ? listOf(part.arguments).map((arg) => visit(arg, context, scope)) : [];
    return typeof callee === "function" ? callee([...firstArgs, ...args], context) : "other";
  };

  const visitByType = (part: JsonObject, context: Value, scope: VariableScope): Value => {
    const { type, value } = part;
    if (type === "name") return readMember(context, String(value), Number(part.position));
    if (type === "string") return { text: String(value), end: Number(part.position) };
    if (type === "variable") {
      if (value === "") return context;
      return value === "$" ? "root" : findVariable(scope, String(value));
    }
    if (type === "path")
      return listOf(part.steps).reduce<Value>(
        (parent, step) => visit(step, parent, scope),
        context,
      );
    if (type === "block") {
      const inner = { variables: new Map(), outer: scope };
      return (
        listOf(part.expressions)
          .map((expression) => visit(expression, context, inner))
          .at(-1) ?? "other"
      );
    }
    if (type === "bind" && isObject(part.lhs)) {
      const bound = visit(part.rhs, context, scope);
      scope.variables.set(String(part.lhs.value), bound);
      return bound;
    }
    if (type === "condition") {
      visit(part.condition, context, scope);
      const branches = [part.then, part.else].filter((branch) => branch !== undefined);
      return unify(branches.map((branch) => visit(branch, context, scope)));
    }
    if (type === "unary" && value === "[")
      return unify(listOf(part.expressions).map((item) => visit(item, context, scope)));
    if (type === "function") return visitCall(part, [], context, scope);
    if (type === "apply" && isObject(part.rhs))
      return visitCall(part.rhs, [visit(part.lhs, context, scope)], context, scope);
    // The parser wraps a tail call in a thunk.
    if (type === "lambda" && part.thunk === true) return visit(part.body, context, scope);
    if (type === "lambda")
      return defineFunction((args) => {
        const variables = listOf(part.arguments).map((parameter, index): [string, Value] => [
          isObject(parameter) ? String(parameter.value) : "",
          args[index] ?? "other",
        ]);
        return visit(part.body, context, { variables: new Map(variables), outer: scope });
      });
    if (type === "transform")
      return defineFunction(([subject = "other"]) => {
        const selected = visit(part.pattern, subject, scope);
        visit([part.update ?? null, part.delete ?? null], selected, scope);
        return subject;
      });
    for (const [name, inner] of Object.entries(part))
      if (!POSTFIX_PARTS.includes(name)) visit(inner, context, scope);
    return type === "sort" ? context : "other";
  };

  const visit = (part: Json | undefined, context: Value, scope: VariableScope): Value => {
    if (Array.isArray(part)) for (const item of part) visit(item, context, scope);
    if (!isObject(part)) return "other";
    // `step@$name` binds the value of the step to a variable, and keeps the context.
    const { focus } = part;
    const value = visitByType(part, context, scope);
    if (typeof focus === "string") scope.variables.set(focus, value);
    for (const name of POSTFIX_PARTS) visit(part[name], value, scope);
    if (part.group !== undefined) return "other";
    return typeof focus === "string" ? context : value;
  };

  visit(ast, "root", { variables: new Map([["lookup", lookup]]) });
  return { nodes: [...references.values()], readsSecrets };
}

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

/** Returns the type that all values have in common. */
const unify = ([first = "other", ...others]: readonly Value[]): Value =>
  others.every((other) => other === first) ? first : "other";

function findVariable(innermost: VariableScope | undefined, name: string): Value {
  for (let scope = innermost; scope; scope = scope.outer) {
    const value = scope.variables.get(name);
    if (value !== undefined) return value;
  }
  return "other";
}
