/** Interprets the response to a call of `TRIGGER_CONFIGURE`. */
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { truncate } from "@signalbox/rules/truncate.ts";
import { ConnectionError } from "./connection-error.ts";
import type { ToolAnswer } from "./connections.ts";

export type ConfigureOutcome =
  /** With `isStored`, the server keeps the subscription and its token when it restarts. */
  | { outcome: "done"; isStored: boolean }
  /** The server has refused the call. `error` is its own message. */
  | { outcome: "rejected"; error: string }
  /** The server may have executed the call, for example before a timeout. */
  | { outcome: "unknown"; error: string; isUnreachable?: boolean };

const MAX_ERROR_LENGTH = 1_000;

export function readConfigureAnswer({
  isError,
  content,
  structuredContent,
}: ToolAnswer): ConfigureOutcome {
  const text = content
    .flatMap((block) => (block.type === "text" && typeof block.text === "string" ? block.text : []))
    .join("\n")
    .trim();
  if (isError) return rejected(text || "TRIGGER_CONFIGURE returned an error without a message.");
  const result = structuredContent ?? parseObject(text);
  if (result?.success === true) return { outcome: "done", isStored: result.stored === true };
  if (result?.success === false)
    return rejected(messageOf(result) ?? "TRIGGER_CONFIGURE returned { success: false }.");
  return {
    outcome: "unknown",
    error: `TRIGGER_CONFIGURE did not return { success: true }, but ${shorten(text || JSON.stringify(result ?? null))}`,
  };
}

/** The outcome is also `unknown` if nothing was sent, because the call is repeated in either case. */
export function readConfigureError(error: unknown): ConfigureOutcome {
  const code = error instanceof ConnectionError ? error.code : undefined;
  const message = messageOfError(error);
  if (code === "rejected") return rejected(message);
  return { outcome: "unknown", error: shorten(message), isUnreachable: code === "unreachable" };
}

export const messageOfError = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

const shorten = (text: string): string => truncate(text, MAX_ERROR_LENGTH);
const rejected = (error: string): ConfigureOutcome => ({
  outcome: "rejected",
  error: shorten(error),
});

const messageOf = ({ error, message }: JsonObject): string | undefined =>
  [error, message, isObject(error) ? error.message : undefined].find(
    (text): text is string => typeof text === "string" && text.trim() !== "",
  );

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
