/** A run that a caller starts in this process. */
import type { Run, WrittenStep } from "./model.ts";
import type { NodeProgress } from "./tool-progress.ts";

export interface StartedRun {
  id: string;
  /** Resolves when the run is stored. From then on, clients can read and cancel it. */
  stored: Promise<void>;
  /** Resolves with the run when it has ended, in any process. */
  ended: Promise<Run>;
}

export interface StartOptions {
  /** Cancels the run when it is aborted. */
  signal?: AbortSignal | undefined;
  /** The caller waits for the result, so the run may be stored late; see deferred-start.ts. */
  deferred?: boolean | undefined;
  /** Steps that are recorded before the run starts. Only for deferred runs. */
  pinned?: readonly WrittenStep[] | undefined;
  /** Called when a tool that the run calls reports progress, if the run executes in this process. */
  onProgress?: ((progress: NodeProgress) => void) | undefined;
}
