/** The location of a value inside of a JSON value: the names and indexes that lead to it from the root. */
export type Keys = readonly (string | number)[];

/** The names that templates accept without quotes. */
const UNQUOTED_NAME = /^[A-Za-z_][\w-]*$/;

/** Returns a path such as `issue.labels[0].name`. Other names are quoted: `data["odd.name"]`. */
export function toPath(keys: Keys): string {
  let path = "";
  for (const key of keys) {
    if (typeof key === "number") path += `[${key}]`;
    else if (UNQUOTED_NAME.test(key)) path += path === "" ? key : `.${key}`;
    else path += `["${key.replace(/["\\]/g, "\\$&")}"]`;
  }
  return path;
}

/** Returns a unique text for the location, to use as a key of maps and sets. */
export const keyOf = (keys: Keys): string => JSON.stringify(keys);
