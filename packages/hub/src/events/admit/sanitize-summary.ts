import type { CheckResult, Summary } from "../model.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: it removes control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]+/g;
const NOT_PLAIN_ASCII = /[^\u0020-\u007e]/;

export function sanitizeText(text: string, maxLength: number): string {
  const truncated = text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
  // Nearly every text is plain ASCII, and one test costs less than two replacements.
  return NOT_PLAIN_ASCII.test(truncated)
    ? truncated.toWellFormed().replace(CONTROL, " ")
    : truncated;
}

const textOrNull = (text: string | null | undefined, maxLength: number): string | null =>
  text === null || text === undefined || text === "" ? null : sanitizeText(text, maxLength);

export const sanitizeSummary = (summary: Partial<Summary>): Summary => ({
  action: textOrNull(summary.action, 100),
  repo: textOrNull(summary.repo, 300),
  sender: textOrNull(summary.sender, 100),
  number: Number.isSafeInteger(summary.number) ? (summary.number as number) : null,
  title: textOrNull(summary.title, 300),
  url: textOrNull(summary.url, 1_000),
  check_result: summary.check_result ? sanitizeCheckResult(summary.check_result) : null,
});

const sanitizeCheckResult = (result: CheckResult): CheckResult => ({
  conclusion: textOrNull(result.conclusion, 100),
  head_branch: textOrNull(result.head_branch, 300),
  head_sha: textOrNull(result.head_sha, 100),
});
