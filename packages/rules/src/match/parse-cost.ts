/**
 * What JSONata's parser would take to read an expression. It copies what stands to the left of `??`
 * and `?:`, again within each other, and goes through the steps of a path once for each of them: a
 * few lines could keep it busy for hours, and nothing can interrupt it. This reads the same tokens
 * in the same places, as parser.js of the library does, and counts what that makes instead of
 * making it.
 */
export interface ParseCost {
  /** In parts of the tree that are made, copied or gone through. */
  parts: number;
  /** Of `??` and `?:` to the left of each other, by way of brackets. */
  levels: number;
  regex: boolean;
  /** A function's signature, which the library makes a regular expression of. */
  signature: string | undefined;
}

/** Counts no further than to `most` parts, and does not say what is wrong with a text that is no expression. */
export function parseCostOf(text: string, most: number): ParseCost {
  const cost: ParseCost = { parts: 0, levels: 0, regex: false, signature: undefined };
  const next = tokenizer(text);
  let token = END;
  let deep = 0;

  const take = (parts: number) => {
    cost.parts += parts;
    if (cost.parts > most) throw ENOUGH;
  };

  const advance = (wanted?: string, afterOperand = false): Token => {
    if (wanted !== undefined && token.id !== wanted) throw ENOUGH;
    token = next(afterOperand);
    if (token.id === "(regex)") cost.regex = true;
    if (token.id === "(none)" || cost.regex) throw ENOUGH;
    take(1);
    return token;
  };

  const expression = (power: number): Part => {
    if (++deep > DEEPEST) {
      cost.parts = most + 1;
      throw ENOUGH;
    }
    const first = token;
    advance(undefined, true);
    let left = prefix(first);
    while (power < (POWERS[token.id] ?? 0)) {
      const { id } = token;
      advance();
      left = infix(id, left);
    }
    deep -= 1;
    return left;
  };

  /** `a, b, c`, up to what is not a comma. */
  const list = (one: () => Part[]): Part[] => {
    const parts: Part[] = [];
    for (;;) {
      parts.push(...one());
      if (token.id !== ",") return parts;
      advance(",");
    }
  };

  const pair = (): Part[] => {
    const key = expression(0);
    advance(":");
    return [key, expression(0)];
  };

  const prefix = ({ id, value }: Token): Part => {
    const own = 1 + value.length / LETTERS;
    switch (id) {
      case "(end)":
      case "(literal)":
      case "(name)":
      case "and":
      case "or":
      case "in":
      case "*":
      case "**":
        return { ...LEAF, weight: own, work: own, name: id === "(name)" ? value : undefined };
      case "%":
        return { ...LEAF, parents: 1 };
      case "-":
        return joined([expression(70)]);
      case "(": {
        const parts: Part[] = [];
        while (token.id !== ")") {
          parts.push(expression(0));
          if ((token.id as string) !== ";") break;
          advance(";");
        }
        advance(")", true);
        return joined(parts);
      }
      case "[": {
        const items = (): Part[] => {
          const item = expression(0);
          if (token.id !== "..") return [item];
          advance("..");
          return [item, expression(0)];
        };
        const parts = token.id === "]" ? [] : list(items);
        advance("]", true);
        return joined(parts);
      }
      case "{": {
        const parts = token.id === "}" ? [] : list(pair);
        advance("}", true);
        return joined(parts);
      }
      case "|": {
        const parts = [expression(0)];
        advance("|");
        parts.push(expression(0));
        if (token.id === ",") {
          advance(",");
          parts.push(expression(0));
        }
        advance("|");
        return joined(parts);
      }
      default:
        throw ENOUGH;
    }
  };

  const infix = (id: string, left: Part): Part => {
    switch (id) {
      case "??":
      case "?:": {
        take(left.weight + left.work);
        const levels = left.levels + 1;
        cost.levels = Math.max(cost.levels, levels);
        return joined([{ ...left, levels }, left, expression(0)]);
      }
      case "?": {
        const parts = [left, expression(0)];
        if (token.id === ":") {
          advance(":");
          parts.push(expression(0));
        }
        return joined(parts);
      }
      case "(":
        return call(left);
      case "[": {
        if (token.id === "]") {
          advance("]");
          return left;
        }
        const within = expression(0);
        advance("]", true);
        return onPath(left, [within], 0);
      }
      case "^": {
        advance("(");
        const terms = list(() => {
          if (token.id === "<" || token.id === ">") advance();
          return [expression(0)];
        });
        advance(")");
        return onPath(left, terms, 1);
      }
      case "{": {
        const parts = token.id === "}" ? [] : list(pair);
        advance("}", true);
        return onPath(left, parts, 0);
      }
      case ".": {
        const right = expression(75);
        return onPath(left, [right], right.steps);
      }
      case ":=":
        if (!left.name?.startsWith("$")) throw ENOUGH;
        return joined([left, expression(9)]);
      case "@":
      case "#": {
        const right = expression(80);
        if (!right.name?.startsWith("$")) throw ENOUGH;
        return onPath(left, [right], 0);
      }
      default:
        return joined([left, expression(POWERS[id] ?? 0)]);
    }
  };

  const call = (left: Part): Part => {
    const given = (): Part[] => {
      if (token.id !== "?") return [expression(0)];
      advance("?");
      return [LEAF];
    };
    const parts = token.id === ")" ? [] : list(given);
    advance(")", true);
    if (left.name !== "function" && left.name !== "λ") return joined([left, ...parts]);
    if (parts.some(({ name }) => !name?.startsWith("$"))) throw ENOUGH;
    if (token.id === "<") sign();
    advance("{");
    const body = expression(0);
    advance("}");
    return joined([...parts, body]);
  };

  const sign = () => {
    let depth = 1;
    let signature = "<";
    while (depth > 0 && token.id !== "{" && token.id !== "(end)") {
      const { id, value } = advance();
      if (id === ">") depth -= 1;
      else if (id === "<") depth += 1;
      signature += value;
    }
    if (!isSimple(signature)) {
      cost.signature ??= signature;
      throw ENOUGH;
    }
    advance(">");
  };

  const joined = (parts: readonly Part[]): Part => {
    const whole = { ...LEAF };
    for (const { weight, work, parents, levels } of parts) {
      whole.weight += weight;
      whole.work += work;
      whole.parents += parents;
      whole.levels = Math.max(whole.levels, levels);
    }
    // What `%` means is looked for anew on the way up.
    whole.work += whole.parents;
    take(whole.parents);
    return whole;
  };

  /** Each further piece of a path takes a look at all of its steps, and at more where it looks for `%`. */
  const onPath = (left: Part, others: readonly Part[], steps: number): Part => {
    const whole = joined([left, ...others]);
    whole.steps = left.steps + steps;
    const work = whole.steps / STEPS + whole.parents * left.weight;
    whole.work += work;
    take(work);
    return whole;
  };

  try {
    advance();
    expression(0);
  } catch (error) {
    if (error !== ENOUGH) throw error;
  }
  return cost;
}

/** Nothing more to count: it is too much, or the parser ends here as well. */
const ENOUGH = Symbol("enough");

/** More than can be evaluated. */
const DEEPEST = 1000;
/** Letters, and steps of a path, that take as long as a part. */
const LETTERS = 32;
const STEPS = 10;

/** What is known of a part of the tree. */
interface Part {
  /** How much there is to copy. */
  weight: number;
  /** How much there is to do once all is read, and again for each copy. */
  work: number;
  /** Of a path. */
  steps: number;
  /** How many `%` are in it. */
  parents: number;
  levels: number;
  /** Of a variable with its `$`. */
  name: string | undefined;
}

const LEAF: Part = { weight: 1, work: 1, steps: 1, parents: 0, levels: 0, name: undefined };

/** How strongly an operator binds to what is before it. */
const POWERS: Readonly<Record<string, number>> = {
  "(": 80,
  "[": 80,
  "@": 80,
  "#": 80,
  ".": 75,
  "{": 70,
  "*": 60,
  "/": 60,
  "%": 60,
  "+": 50,
  "-": 50,
  "&": 50,
  "=": 40,
  "<": 40,
  ">": 40,
  "!=": 40,
  "<=": 40,
  ">=": 40,
  "~>": 40,
  "??": 40,
  "?:": 40,
  "^": 40,
  in: 40,
  and: 30,
  or: 25,
  "?": 20,
  ":=": 10,
};

/**
 * Types, each of them perhaps optional. A regular expression of many that can be left out or
 * repeated takes forever, and other signs would not even be types.
 */
const isSimple = (signature: string): boolean =>
  signature.length <= 100 &&
  /^[a-z<>()?+:-]*$/.test(signature) &&
  (signature.match(/\+/g) ?? []).length <= 1 &&
  (signature.match(/[?-]/g) ?? []).length <= 8;

interface Token {
  /** The operator itself; else what kind of thing it is. */
  id: string;
  value: string;
}

const END: Token = { id: "(end)", value: "(end)" };
/** Where the tokenizer gives up. */
const NONE: Token = { id: "(none)", value: "" };

const SPACE = /(?:[ \t\n\r\v]|\/\*[\s\S]*?\*\/)*/y;
const OPERATOR = /\.\.|:=|!=|>=|<=|\*\*|~>|\?:|\?\?|[.[\]{}(),@#;:?+\-*/%|=<>^&]/y;
const TEXT = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'/y;
const NUMBER = /(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[Ee][-+]?[0-9]+)?/y;
const QUOTED = /`[^`]*`/y;
const NAME = /[^ \t\n\r\v.[\]{}(),@#;:?+\-*/%|=<>^&!~]+/y;

function tokenizer(text: string): (afterOperand: boolean) => Token {
  let at = 0;
  const read = (kind: RegExp): string | undefined => {
    kind.lastIndex = at;
    const found = kind.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  return (afterOperand) => {
    read(SPACE);
    if (at >= text.length) return END;
    if (text.startsWith("/*", at)) return NONE;
    if (!afterOperand && text[at] === "/") return { id: "(regex)", value: "" };
    const operator = read(OPERATOR);
    if (operator !== undefined) return { id: operator, value: operator };
    const literal = read(TEXT) ?? read(NUMBER);
    if (literal !== undefined) return { id: "(literal)", value: literal };
    const quoted = read(QUOTED);
    if (quoted !== undefined) return { id: "(name)", value: quoted.slice(1, -1) };
    if ("\"'`".includes(text[at] as string)) return NONE;
    const name = read(NAME);
    if (name === undefined) return NONE;
    if (name === "and" || name === "or" || name === "in") return { id: name, value: name };
    const isValue = name === "true" || name === "false" || name === "null";
    return { id: isValue ? "(literal)" : "(name)", value: name };
  };
}
