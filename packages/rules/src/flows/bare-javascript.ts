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

/** The tokens after which a slash starts a regular expression. */
const BEFORE_REGEX =
  /^(?:[^\w$\u0080-\uffff)\]}]?|return|typeof|instanceof|in|of|new|delete|void|throw|case|do|else)$/;

/**
 * Also empties the strings for which `shouldEmpty` returns true. Other strings remain, since they can be
 * names, as in `nodes["slug"]`.
 */
export function bareJavaScript(code: string, shouldEmpty: (string: string) => boolean): string {
  let bare = "";
  /** The previous token. After a literal it is `x`; at the start of a `${` expression it is `(`. */
  let previous = "";
  let at = 0;
  /** For each template string whose expression is open: the number of open braces in the expression. */
  const openBraces: number[] = [];
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [match = ""] = pattern.exec(code) ?? [];
    at += match.length;
    return match;
  };
  const append = (text: string, token = text) => {
    bare += text;
    if (token.trim()) previous = token;
  };
  const skipTemplateText = () => {
    if (take(TEMPLATE).endsWith("${")) {
      openBraces.push(0);
      append("`", "(");
    } else append("`", "x");
  };

  while (at < code.length) {
    if (take(COMMENT)) {
      append(" ");
      continue;
    }
    const string = take(STRING);
    if (string) {
      append(shouldEmpty(string) ? '""' : string, "x");
      continue;
    }
    if (code[at] === "/" && BEFORE_REGEX.test(previous) && take(REGEX)) {
      append("/ /", "x");
      continue;
    }
    const token = take(WORD) || (code[at++] ?? "");
    const braces = openBraces.at(-1);
    if (token === "`" || (token === "}" && braces === 0)) {
      if (token === "}") openBraces.pop();
      skipTemplateText();
      continue;
    }
    if (braces !== undefined && token === "{") openBraces[openBraces.length - 1] = braces + 1;
    if (braces !== undefined && token === "}") openBraces[openBraces.length - 1] = braces - 1;
    append(token);
  }
  return bare;
}
