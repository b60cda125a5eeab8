/**
 * Names for machines, out of names for people. Server, migration and UI all ask here: a tool's
 * name, and a node's slug, are spelled one way.
 */
export const NAME_LENGTH = 64;

export const TOOL_NAME_RULE =
  "A tool name starts with a letter a–z, goes on with a–z, 0–9 and _, does not end in _, and has at most 64 characters.";

/** Letters that Unicode does not take apart into a plain one and a mark. */
const SPELLINGS: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ħ: "h",
  ı: "i",
  ĸ: "k",
  ŋ: "n",
  ŧ: "t",
  ə: "e",
};

/**
 * "Get Weather Data" → `get_weather_data`, "Ünïcode" → `unicode`. What cannot be spelled in a–z and
 * 0–9 is left out; where nothing remains, or a digit comes first, `word` takes the place in front.
 */
export function snakeCase(name: string, word: string): string {
  const spelled = name
    // More than this cannot matter, and names come from strangers.
    .slice(0, 1000)
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^\0-\x7f]/gu, (letter) => SPELLINGS[letter] ?? letter)
    .replace(/[^a-z0-9]+/g, "_");
  const plain = trim(spelled);
  return cut(/^[a-z]/.test(plain) ? plain : trim(`${word}_${plain}`), NAME_LENGTH);
}

export const toolName = (name: string): string => snakeCase(name, "tool");

/** The base, or else the lowest of `_2`, `_3`, … that is free. */
export const uniqueToolName = (base: string, taken: { has(name: string): boolean }): string =>
  uniqueName(base, (name) => taken.has(name));

export function uniqueName(base: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(base)) return base;
  for (let number = 2; ; number++) {
    const suffix = `_${number}`;
    const name = cut(base, NAME_LENGTH - suffix.length) + suffix;
    if (!isTaken(name)) return name;
  }
}

/** For a name that somebody wrote: undefined where it is good, else the rule. */
export function checkToolName(name: string): string | undefined {
  const fits = /^[a-z](?:[a-z0-9_]*[a-z0-9])?$/.test(name) && name.length <= NAME_LENGTH;
  return fits ? undefined : TOOL_NAME_RULE;
}

const trim = (text: string): string => text.replace(/^_+|_+$/g, "");
const cut = (text: string, length: number): string => text.slice(0, length).replace(/_+$/, "");
