/** What a text looks like, by name: `format`. Unknown ones fit. */
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/server/validators/cf-worker";
import type { Effort } from "./effort.ts";
import { PATTERN_LENGTH, patternProblem } from "./linear-pattern.ts";

const LENGTH = 100_000;
const STEPS_PER_TEXT = 30;

type Format = (text: string, effort: Effort) => boolean;

/** Those of the library that are linear: its `url` and `regex` are not. */
const library = new CfWorkerJsonSchemaValidator({ draft: "2020-12" });
const ofLibrary = [
  ...["date", "time", "date-time", "duration", "uri", "uri-reference", "uri-template", "email"],
  ...["hostname", "ipv4", "ipv6", "uuid", "json-pointer", "relative-json-pointer"],
].map((format): [string, Format] => {
  const check = library.getValidator({ format });
  return [format, (text) => check(text).valid];
});

const FORMATS: ReadonlyMap<string, Format> = new Map([
  ...ofLibrary,
  ["regex", (text, effort) => patternProblem(text, effort) === undefined],
  ["url", isUrl],
]);

export function formatProblem(format: string, text: string, effort: Effort): string | undefined {
  const has = FORMATS.get(format);
  if (!has) return undefined;
  const most = format === "regex" ? PATTERN_LENGTH : LENGTH;
  if (text.length > most) return `must have at most ${most} characters to be a ${format}`;
  effort.spend(STEPS_PER_TEXT + text.length);
  return has(text, effort) ? undefined : `must be as the format ${format} has it`;
}

/** Of a host with its user. Names of hosts have 253 characters, at most. */
const HOST_LENGTH = 1000;

function isUrl(text: string, effort: Effort): boolean {
  if (!/^(?:https?|ftp):\/\//i.test(text)) return false;
  // As the parser of URLs reads it, which passes over these and over more slashes.
  const [, host = ""] = /^\w+:[/\\]*([^/\\?#]*)/.exec(text.replace(/[\t\n\r]/g, "")) ?? [];
  if (host.length > HOST_LENGTH) return false;
  // Other letters are written in ASCII (Punycode), which takes the square of their number.
  if (/[^\0-\x7f]|%/.test(host)) effort.spend(host.length ** 2 / 10);
  return URL.canParse(text);
}
