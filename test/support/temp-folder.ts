import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Creates a temporary folder that is removed when the running test has finished. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-"));
  // A killed process of the test may still create a file while the folder is being removed.
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}
