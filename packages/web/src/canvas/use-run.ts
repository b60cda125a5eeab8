/** Starts runs of the draft, follows them live, and stores the pinned outputs for them. */

import type { RunView, RunWithSteps } from "@signalbox/contract";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { useCallback, useEffect, useState } from "react";
import { api } from "../api/client.ts";
import { useLive } from "../api/use-live.ts";
import { isEnded, mergeSteps } from "../runs/run-data.ts";
import { toastError, toasts } from "../ui/toast.tsx";
import type { Autosave } from "./autosave.ts";
import type { Graph } from "./graph.ts";
import {
  type Pin,
  type Pins,
  pinsOfRun,
  pinsOfTest,
  readPins,
  savePins,
  triggerOf,
  watchPins,
} from "./pins.ts";
import { saveFirst } from "./save-first.ts";

/** A run whose outputs the test of a single step uses. */
export type PastRun = Pick<RunWithSteps, "id" | "trigger_node">;

/** The response to a request that starts a run: with the steps if the run has ended. */
type StartedRun = RunView & {
  [Name in "steps" | "next_cursor"]?: RunWithSteps[Name] | undefined;
};

export interface RunRequest {
  trigger: string;
  input?: JsonObject;
  event?: string;
}

/** The state of the history entry if the editor was opened with the data of a past run. */
export interface EditorState {
  base: PastRun;
  request: RunRequest;
}

const readEditorState = (): Partial<EditorState> =>
  (globalThis.history?.state as Partial<EditorState> | null) ?? {};

export function useDraftRun(flow: string, autosave: Autosave, graph: Graph) {
  const [run, setRun] = useState<RunWithSteps>();
  const [request, setRequest] = useState(() => readEditorState().request);
  /** The last run that was not a test of a single step. Tests of single steps use its outputs. */
  const [base, setBase] = useState(() => readEditorState().base);
  const [isStarting, setStarting] = useState(false);
  const [pins, setPins] = useState(() => readPins(flow));
  useEffect(() => watchPins(flow, setPins), [flow]);
  const isFollowed = run !== undefined && !isEnded(run);

  useLive(isFollowed ? `runs:${run.id}` : undefined, ({ kind, data }) => {
    if (kind !== "run_step") return;
    setRun((before) =>
      before?.id === data.run
        ? { ...before, ...data, steps: [...mergeSteps(before.steps, data.steps)] }
        : before,
    );
  });

  const startRun = useCallback(
    async (sendRequest: () => Promise<StartedRun>, onStarted?: (run: PastRun) => void) => {
      setStarting(true);
      try {
        if (!(await saveFirst(autosave))) return;
        const started = await sendRequest();
        onStarted?.(started);
        // The page follows only runs that have not ended, so the steps of this run must be loaded.
        const isMissingSteps = started.steps === undefined && isEnded(started);
        const run = isMissingSteps
          ? await api.get("/api/runs/:run", { params: { run: started.id } })
          : started;
        setRun({ ...run, steps: run.steps ?? [], next_cursor: run.next_cursor ?? null });
      } catch (error) {
        toastError(error);
      } finally {
        setStarting(false);
      }
    },
    [autosave],
  );

  const changePins = (next: Pins) => {
    setPins(next);
    if (!savePins(flow, next))
      toasts.add({
        title: "Pinned until the page is closed",
        detail: "The browser has no space left to keep the pinned data.",
      });
  };

  return {
    run,
    request,
    isStarting,
    pins,
    start: (newRequest: RunRequest) => {
      setRequest(newRequest);
      return startRun(
        () =>
          api.post("/api/flows/:flow/runs", {
            params: { flow },
            body: { ...newRequest, pins: pinsOfRun(graph, pins, newRequest.trigger) },
            query: { draft: "1" },
          }),
        setBase,
      );
    },
    /**
     * Executes one node. The nodes before it are not executed: their outputs are the pinned ones or, if
     * nothing is pinned, those of `base`. Without `base`, `last` is used, the last run of the flow.
     */
    test: (node: string, last?: PastRun) => {
      const past = base ?? last;
      const trigger = triggerOf(graph, node, past?.trigger_node);
      return startRun(() =>
        api.post("/api/flows/:flow/nodes/:node/test", {
          params: { flow, node },
          body: {
            pins: trigger ? pinsOfTest(graph, pins, trigger, node) : {},
            ...(trigger && { trigger }),
            ...(past && { from_run: past.id }),
          },
        }),
      );
    },
    cancel: () =>
      run && void api.post("/api/runs/:run/cancel", { params: { run: run.id } }).catch(toastError),
    close: () => setRun(undefined),
    pin: (node: string, pin: Pin) => changePins({ ...pins, [node]: pin }),
    unpin: (node: string) => {
      const { [node]: _, ...otherPins } = pins;
      changePins(otherPins);
    },
  };
}
export type DraftRun = ReturnType<typeof useDraftRun>;
