/** Slugs of apps: the part of a URL that names the app, as in `/mcp/my-app`. */
import { snakeCase } from "./tool-name.ts";

const MAX_LENGTH = 63;

export const APP_SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
export const APP_SLUG_RULE =
  "A slug has 1 to 63 characters from a–z, 0–9 and -, and does not start or end with -.";

/**
 * Derives a slug from an app's name: "My App" → `my-app`. If it is taken, the caller tries the numbers
 * 2, 3, …: `my-app-2`, `my-app-3`. A name without Latin letters becomes `app`.
 */
export function appSlugFor(name: string, number = 1): string {
  const suffix = number === 1 ? "" : `-${number}`;
  const words = snakeCase(name, "app").replaceAll("_", "-");
  return words.slice(0, MAX_LENGTH - suffix.length).replace(/-+$/, "") + suffix;
}
