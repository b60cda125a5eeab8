/** What a schema has against a value, with paths as people write them: `cases[0].name`. */
import type { z } from "zod";

export interface Issue {
  path: string;
  keys: readonly PropertyKey[];
  message: string;
}

export const issuesOf = (error: z.ZodError): Issue[] =>
  error.issues.map(({ path, message }) => ({ path: writePath(path), keys: path, message }));

export function writePath(keys: readonly PropertyKey[]): string {
  let text = "";
  for (const key of keys) {
    if (typeof key === "number") text += `[${key}]`;
    else if (/^[^\s.[\]"'{}?]+$/.test(String(key))) text += text ? `.${String(key)}` : String(key);
    else text += `["${String(key).replaceAll(/["\\]/g, "\\$&")}"]`;
  }
  return text || "(all of it)";
}
