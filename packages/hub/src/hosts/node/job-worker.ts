/** A worker process. It runs jobs one by one; the pool kills it at the deadline. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import type { SerializedResult } from "@signalbox/rules/flows/evaluation.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { eventJobs } from "../../events/jobs.ts";
import { createFlowJobs } from "../../flows/jobs.ts";
import { createJobRunner } from "../../kernel/jobs/run-jobs.ts";
import { READY, type WorkerMessage } from "../../kernel/jobs/worker-pool.ts";
import { createPieceJoiner, type JobMessage } from "./job-pieces.ts";

/** TypeScript declares WebAssembly only for the DOM. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<WebAssembly.Module> };

process.once("disconnect", () => process.exit());
// An endless job blocks this thread, so another thread checks whether the hub has exited.
new Worker(
  `setInterval(() => {
    if (process.ppid !== ${process.ppid}) process.kill(process.pid, "SIGKILL");
  }, 1000);`,
  { eval: true, resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 } },
).unref();

const enginePath = createRequire(import.meta.url).resolve(
  "@jitl/quickjs-wasmfile-release-sync/wasm",
);
const engine = await WebAssembly.compile(await readFile(enginePath));
const run = createJobRunner([...eventJobs, ...createFlowJobs({ engine })]);

/**
 * Above these limits, the pool queues the rest of a batch again: other tenants must not wait for it, and
 * the hub parses the results on its main thread.
 */
const MAX_BATCH_MS = 20;
const MAX_OUTPUT_LENGTH = LARGE_BYTES;

const post = (message: WorkerMessage) => process.send?.(message);

const joinPieces = createPieceJoiner();
process.on("message", async (message: JobMessage) => {
  const results: SerializedResult[] = [];
  const times: number[] = [];
  const startedAt = performance.now();
  let endedAt = startedAt;
  let outputLength = 0;
  for (const request of joinPieces(message)) {
    const result = await run(request);
    results.push(result);
    const now = performance.now();
    times.push(now - endedAt);
    endedAt = now;
    if ("output" in result) outputLength += result.output.length;
    if (endedAt - startedAt > MAX_BATCH_MS || outputLength > MAX_OUTPUT_LENGTH) break;
  }
  // One message: the hub then continues all runs of the batch together, and they share a commit.
  if (results.length > 0) post({ results, times });
});
post(READY);
