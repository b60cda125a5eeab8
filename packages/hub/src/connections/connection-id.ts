/**
 * The id of a connection consists of its name, so that flows are readable, and six random characters. An
 * id is never reused, so that a flow cannot receive events of a later connection with the same name.
 */
import { snakeCase } from "@signalbox/rules/flows/tool-name.ts";

/** 32 letters and digits, without those that look alike. */
const ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";
const RANDOM_LENGTH = 6;
const NAME_LENGTH = 40;

export function connectionId(
  name: string,
  random = (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes),
): string {
  const slug = snakeCase(name, "connection")
    .slice(0, NAME_LENGTH)
    .replaceAll("_", "-")
    .replace(/-$/, "");
  const bytes = random(new Uint8Array(RANDOM_LENGTH));
  const suffix = Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return `${slug}-${suffix}`;
}
