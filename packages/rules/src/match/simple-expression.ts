/**
 * Recognizes JSONata expressions whose evaluation takes a short time, in proportion to the number of values
 * of their data: comparisons of paths with literals, joined by `and` and `or`. Loops, lambdas, regular
 * expressions, predicates and descendants are not simple.
 */
import { isObject, type Json } from "../json.ts";

/** The maximum number of nodes of the syntax tree. */
const MAX_NODES = 100;
/** A longer text could take a long time to find in another one. */
const MAX_TEXT = 64;

const COMPARISONS = ["=", "!=", "<", "<=", ">", ">="];
const FUNCTIONS = ["contains", "exists", "not", "boolean", "count", "lowercase", "uppercase"];

/** `ast` is the syntax tree as JSON. */
export function isSimpleExpression(ast: Json): boolean {
  let nodes = 0;
  const areSimple = (list: Json | undefined): boolean =>
    Array.isArray(list) && list.every(isSimple);
  const isSimple = (node: Json | undefined): boolean => {
    nodes += 1;
    if (!isObject(node) || nodes > MAX_NODES || "group" in node || "predicate" in node)
      return false;
    const { type, value } = node;
    if (isLiteral(node)) return true;
    if (type === "path")
      return !("tuple" in node) && Array.isArray(node.steps) && node.steps.every(isName);
    if (type === "block") return areSimple(node.expressions);
    if (type === "unary") return isListOfLiterals(node);
    if (type === "function") {
      const name =
        isObject(node.procedure) && node.procedure.type === "variable" && node.procedure.value;
      const searched = name === "contains" && Array.isArray(node.arguments) && node.arguments[1];
      return (
        FUNCTIONS.includes(String(name)) &&
        areSimple(node.arguments) &&
        (name !== "contains" || (searched !== undefined && isLiteral(searched as Json)))
      );
    }
    if (type !== "binary" || !isSimple(node.lhs) || !isSimple(node.rhs)) return false;
    if (value === "in") return isListOfLiterals(node.rhs) || isLiteral(node.lhs);
    return value === "and" || value === "or" || COMPARISONS.includes(String(value));
  };
  return isSimple(ast);
}

const isLiteral = (node: Json | undefined): boolean =>
  isObject(node) &&
  (node.type === "number" ||
    node.type === "value" ||
    (node.type === "string" && String(node.value).length <= MAX_TEXT));

const isListOfLiterals = (node: Json | undefined): boolean =>
  isObject(node) &&
  node.type === "unary" &&
  node.value === "[" &&
  Array.isArray(node.expressions) &&
  node.expressions.every(isLiteral);

/** A step of a path that only reads a member. */
const isName = (step: Json): boolean =>
  isObject(step) &&
  step.type === "name" &&
  Object.keys(step).every((key) => ["type", "value", "position"].includes(key));
