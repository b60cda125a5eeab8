/** Derives tool names and slugs from the names of nodes. */
export const MAX_NAME_LENGTH = 64;

export const TOOL_NAME_RULE =
  "A tool name starts with a letter a–z, contains only a–z, 0–9 and _, does not end with _, and has at most 64 characters.";

/** Letters that Unicode normalization does not decompose. */
const TRANSLITERATIONS: Readonly<Record<string, string>> = {
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
 * "Get Weather Data" → `get_weather_data`, "Ünïcode" → `unicode`. Other characters become `_`. The result
 * starts with `prefix` if nothing else remains, or if the name starts with a digit.
 */
export function snakeCase(name: string, prefix: string): string {
  const ascii = name
    // Names come from requests and can be long; only the first characters are used.
    .slice(0, 1000)
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .replace(/[^\0-\x7f]/gu, (letter) => TRANSLITERATIONS[letter] ?? letter)
    .replace(/[^a-z0-9]+/g, "_");
  const plain = trim(ascii);
  return cut(/^[a-z]/.test(plain) ? plain : trim(`${prefix}_${plain}`), MAX_NAME_LENGTH);
}

export const toolName = (name: string): string => snakeCase(name, "tool");

/** If the base is taken, appends the first of `_2`, `_3`, … that is not taken. */
export const uniqueToolName = (base: string, taken: { has(name: string): boolean }): string =>
  uniqueName(base, (name) => taken.has(name));

export const uniqueName = (base: string, isTaken: (name: string) => boolean): string =>
  numberedName(base, freeNumber(base, isTaken));

/** Returns the first number from `from` whose name is not taken. */
export function freeNumber(base: string, isTaken: (name: string) => boolean, from = 1): number {
  let number = from;
  while (isTaken(numberedName(base, number))) number += 1;
  return number;
}

/** The name with the number 1 is the base; the name with the number 2 ends with `_2`. */
export function numberedName(base: string, number: number): string {
  if (number === 1) return base;
  const suffix = `_${number}`;
  return cut(base, MAX_NAME_LENGTH - suffix.length) + suffix;
}

/** Returns the rule if the name that an author chose violates it. */
export function checkToolName(name: string): string | undefined {
  const isValid = /^[a-z](?:[a-z0-9_]*[a-z0-9])?$/.test(name) && name.length <= MAX_NAME_LENGTH;
  return isValid ? undefined : TOOL_NAME_RULE;
}

const trim = (text: string): string => text.replace(/^_+|_+$/g, "");
const cut = (text: string, length: number): string => text.slice(0, length).replace(/_+$/, "");
