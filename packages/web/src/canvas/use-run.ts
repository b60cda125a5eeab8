/** A run of the draft that is followed live, and the data that is pinned for such runs. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { useCallback, useEffect, useState } from "react";
import { api, path } from "../api/client.ts";
import type { RunWithSteps } from "../api/types.ts";
import { useLive } from "../api/use-live.ts";
import { isEnded, mergeInto } from "../runs/run-data.ts";
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

/** A run whose outputs feed the test of a single step. */
export type PastRun = Pick<RunWithSteps, "id" | "trigger_node">;

export interface RunRequest {
  trigger: string;
  input?: JsonObject;
  event?: string;
}

/** The data of a past run with which the editor was opened, as the state of the history entry. */
export interface EditorState {
  base: PastRun;
  request: RunRequest;
}

const openedWith = (): Partial<EditorState> =>
  (globalThis.history?.state as Partial<EditorState> | null) ?? {};

export function useDraftRun(flow: string, autosave: Autosave, graph: Graph) {
  const [run, setRun] = useState<RunWithSteps>();
  const [request, setRequest] = useState(() => openedWith().request);
  /** The last run that executed more than one step: its outputs feed tests of single steps. */
  const [base, setBase] = useState(() => openedWith().base);
  const [isStarting, setStarting] = useState(false);
  const [pins, setPins] = useState(() => readPins(flow));
  useEffect(() => watchPins(flow, setPins), [flow]);
  const isFollowed = run !== undefined && !isEnded(run);

  useLive(isFollowed ? `runs:${run.id}` : undefined, ({ kind, data }) => {
    if (kind !== "run_step") return;
    const message = data as Partial<RunWithSteps> & { run: string };
    setRun((before) =>
      before?.id === message.run
        ? { ...before, ...message, steps: [...mergeInto(before.steps, message.steps ?? [])] }
        : before,
    );
  });

  const begin = useCallback(
    async (work: () => Promise<RunWithSteps>, onStarted?: (run: PastRun) => void) => {
      setStarting(true);
      try {
        if (!(await saveFirst(autosave))) return;
        const started = await work();
        onStarted?.(started);
        // A run that has ended already is not followed.
        const isMissingSteps = started.steps === undefined && isEnded(started);
        const run = isMissingSteps
          ? await api.get<RunWithSteps>(path`/api/runs/${started.id}`)
          : started;
        setRun({ ...run, steps: run.steps ?? [] });
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
    start: (wanted: RunRequest) => {
      setRequest(wanted);
      return begin(
        () =>
          api.post<RunWithSteps>(
            path`/api/flows/${flow}/runs`,
            { ...wanted, pins: pinsOfRun(graph, pins, wanted.trigger) },
            { query: { draft: true } },
          ),
        setBase,
      );
    },
    /** With the outputs of a run, where nothing is pinned; `last` is the flow's last run. */
    test: (node: string, last?: PastRun) => {
      const past = base ?? last;
      const trigger = triggerOf(graph, node, past?.trigger_node);
      return begin(() =>
        api.post<RunWithSteps>(path`/api/flows/${flow}/nodes/${node}/test`, {
          pins: trigger ? pinsOfTest(graph, pins, trigger, node) : {},
          ...(trigger && { trigger }),
          ...(past && { from_run: past.id }),
        }),
      );
    },
    cancel: () => run && void api.post(path`/api/runs/${run.id}/cancel`).catch(toastError),
    close: () => setRun(undefined),
    pin: (node: string, pin: Pin) => changePins({ ...pins, [node]: pin }),
    unpin: (node: string) => {
      const { [node]: _, ...rest } = pins;
      changePins(rest);
    },
  };
}
export type DraftRun = ReturnType<typeof useDraftRun>;
