/** Keys from the root of a JSON value to a part of it, as text of rules/match/path.ts. */
export type Keys = readonly (string | number)[];

/** A name that needs no quotes. Templates know no other names without them. */
const PLAIN = /^[A-Za-z_][\w-]*$/;

/** `issue.labels[0].name`; special names are quoted: `data["odd.name"]`. */
export function toPath(keys: Keys): string {
  let path = "";
  for (const key of keys) {
    if (typeof key === "number") path += `[${key}]`;
    else if (PLAIN.test(key)) path += path === "" ? key : `.${key}`;
    else path += `["${key.replace(/["\\]/g, "\\$&")}"]`;
  }
  return path;
}

/** The identity of a part in sets. */
export const keyOf = (keys: Keys): string => JSON.stringify(keys);
