import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A temporary folder that is removed when the running test has finished. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
