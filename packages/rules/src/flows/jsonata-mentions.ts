/**
 * What a JSONata expression asks of the whole that it is given: for outputs of nodes, and for
 * secrets. Read from the parse: through paths, blocks, variables, `$lookup` and functions that the
 * expression makes itself. Where a value goes on through others (`$merge([nodes, …])`), it is lost
 * from sight.
 */
import jsonata from "jsonata";
import { isObject, type Json, type JsonObject } from "../json.ts";
import { checkExpression } from "./run-jsonata.ts";

interface Mention {
  slug: string;
  /** Where its name ends, with the quotes around it. */
  end: number;
}

export interface JsonataMentions {
  nodes: Mention[];
  secrets: boolean;
}

/** What is known of a value; `whole` is what the expression is given. */
type Value = "whole" | "nodes" | "other" | Text | Callable;
interface Text {
  text: string;
  end: number;
}
type Callable = (given: readonly Value[], context: Value) => Value;

/** Variables, from the inside out. */
interface Names {
  own: Map<string, Value>;
  outer?: Names;
}

/** What these hold is looked up in the value before them. */
const AFTERWARDS = ["stages", "predicate", "group"];

/** Functions can call themselves, and each other. */
const MOST_CALLS = 20;

export function mentionsInJsonata(text: string): JsonataMentions {
  const found = new Map<number, Mention>();
  let secrets = false;
  let calls = 0;

  const into = (value: Value, name: string, end: number): Value => {
    if (value === "nodes") found.set(end, { slug: name, end });
    if (value !== "whole") return "other";
    secrets ||= name === "secrets";
    return name === "nodes" ? "nodes" : "other";
  };

  /** `$lookup("slug")` looks into what is before it. */
  const lookup: Callable = (given, context) => {
    const [key, table = context] = given.toReversed();
    return typeof key === "object" ? into(table, key.text, key.end) : "other";
  };

  /** Looked through as if called with anything, and again where more is known of what it is given. */
  const callable = (enter: (given: readonly Value[]) => Value): Callable => {
    const usual = enter([]);
    return (given) =>
      given.every((one) => one === "other") || ++calls > MOST_CALLS ? usual : enter(given);
  };

  const call = (part: JsonObject, before: Value[], context: Value, names: Names): Value => {
    const isCall = part.type === "function";
    const callee = visit(isCall ? part.procedure : part, context, names);
    const given = isCall ? listOf(part.arguments).map((one) => visit(one, context, names)) : [];
    return typeof callee === "function" ? callee([...before, ...given], context) : "other";
  };

  const read = (part: JsonObject, context: Value, names: Names): Value => {
    const { type, value } = part;
    if (type === "name") return into(context, String(value), Number(part.position));
    if (type === "string") return { text: String(value), end: Number(part.position) };
    if (type === "variable") {
      if (value === "") return context;
      return value === "$" ? "whole" : find(names, String(value));
    }
    if (type === "path")
      return listOf(part.steps).reduce<Value>((at, step) => visit(step, at, names), context);
    if (type === "block") {
      const inside = { own: new Map(), outer: names };
      return (
        listOf(part.expressions)
          .map((one) => visit(one, context, inside))
          .at(-1) ?? "other"
      );
    }
    if (type === "bind" && isObject(part.lhs)) {
      const bound = visit(part.rhs, context, names);
      names.own.set(String(part.lhs.value), bound);
      return bound;
    }
    if (type === "condition") {
      visit(part.condition, context, names);
      const ways = [part.then, part.else].filter((way) => way !== undefined);
      return same(ways.map((way) => visit(way, context, names)));
    }
    if (type === "unary" && value === "[")
      return same(listOf(part.expressions).map((one) => visit(one, context, names)));
    if (type === "function") return call(part, [], context, names);
    if (type === "apply" && isObject(part.rhs))
      return call(part.rhs, [visit(part.lhs, context, names)], context, names);
    // How the parser writes a call at the end of a function.
    if (type === "lambda" && part.thunk === true) return visit(part.body, context, names);
    if (type === "lambda")
      return callable((given) => {
        const own = listOf(part.arguments).map((one, at): [string, Value] => [
          isObject(one) ? String(one.value) : "",
          given[at] ?? "other",
        ]);
        return visit(part.body, context, { own: new Map(own), outer: names });
      });
    if (type === "transform")
      return callable(([subject = "other"]) => {
        const at = visit(part.pattern, subject, names);
        visit([part.update ?? null, part.delete ?? null], at, names);
        return subject;
      });
    for (const [name, inner] of Object.entries(part))
      if (!AFTERWARDS.includes(name)) visit(inner, context, names);
    return type === "sort" ? context : "other";
  };

  const visit = (part: Json | undefined, context: Value, names: Names): Value => {
    if (Array.isArray(part)) for (const one of part) visit(one, context, names);
    if (!isObject(part)) return "other";
    const { focus } = part;
    const value = read(part, context, names);
    if (typeof focus === "string") names.own.set(focus, value);
    for (const name of AFTERWARDS) visit(part[name], value, names);
    if (part.group !== undefined) return "other";
    return typeof focus === "string" ? context : value;
  };

  // What cannot be read, or is too much to read, is told of elsewhere.
  if (checkExpression(text) !== undefined) return { nodes: [], secrets };
  try {
    // As JSON: what is not data, such as a regular expression, says nothing of nodes.
    const parsed = JSON.parse(JSON.stringify(jsonata(text).ast())) as Json;
    visit(parsed, "whole", { own: new Map([["lookup", lookup]]) });
  } catch {
    return { nodes: [], secrets }; // nested too deep
  }
  return { nodes: [...found.values()], secrets };
}

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

/** What they all are. */
const same = ([first = "other", ...rest]: readonly Value[]): Value =>
  rest.every((one) => one === first) ? first : "other";

function find(names: Names | undefined, name: string): Value {
  for (let at = names; at; at = at.outer) {
    const known = at.own.get(name);
    if (known !== undefined) return known;
  }
  return "other";
}
