/**
 * Removes comments, regular expressions and the text of template strings from JavaScript. This is not
 * a parser: the token before a slash decides whether the slash divides or starts a regular expression.
 */
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y;
const STRING = /"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?/y;
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\]?)+\/?/y;
/** The text of a template string up to its end or its next expression. */
const TEMPLATE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)?/y;
const WORD = /[\w$\u0080-\uffff]+/y;

const BEFORE_REGEX =
  /^(?:[^\w$\u0080-\uffff)\]}]?|return|typeof|instanceof|in|of|new|delete|void|throw|case|do|else)$/;

/**
 * Also empties the strings for which `isCode` is true. Other strings remain, since they can be names,
 * as in `nodes["slug"]`.
 */
export function bareJavaScript(code: string, isCode: (text: string) => boolean): string {
  let bare = "";
  /** The previous token; `x` after a literal, `(` at the start of an expression in a template string. */
  let before = "";
  let at = 0;
  /** For each open template string: the number of open braces in its expression. */
  const open: number[] = [];
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [taken = ""] = pattern.exec(code) ?? [];
    at += taken.length;
    return taken;
  };
  const put = (text: string, asBefore = text) => {
    bare += text;
    if (asBefore.trim()) before = asBefore;
  };
  const skipTemplateText = () => {
    if (take(TEMPLATE).endsWith("${")) {
      open.push(0);
      put("`", "(");
    } else put("`", "x");
  };

  while (at < code.length) {
    if (take(COMMENT)) {
      put(" ");
      continue;
    }
    const string = take(STRING);
    if (string) {
      put(isCode(string) ? '""' : string, "x");
      continue;
    }
    if (code[at] === "/" && BEFORE_REGEX.test(before) && take(REGEX)) {
      put("/ /", "x");
      continue;
    }
    const part = take(WORD) || (code[at++] ?? "");
    const depth = open.at(-1);
    if (part === "`" || (part === "}" && depth === 0)) {
      if (part === "}") open.pop();
      skipTemplateText();
      continue;
    }
    if (depth !== undefined && part === "{") open[open.length - 1] = depth + 1;
    if (depth !== undefined && part === "}") open[open.length - 1] = depth - 1;
    put(part);
  }
  return bare;
}
