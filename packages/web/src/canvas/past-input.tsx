/** Lets the user choose a past run of a trigger, to use its input. */

import type { RunItem } from "@signalbox/contract";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { useMutation } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { usePastRuns } from "../panel/use-past-runs.ts";
import { Field, SelectInput } from "../ui/field.tsx";
import { ago } from "../ui/format.ts";
import { toastError } from "../ui/toast.tsx";

export interface PastRunInput {
  input: JsonObject;
  /** The id of the event that started the run; null if it was not started by an event. */
  event: string | null;
}

export function PastInput({
  flow,
  trigger,
  onPick,
}: {
  flow: string;
  trigger: string;
  onPick: (input: PastRunInput) => void;
}) {
  const runs = usePastRuns(flow);
  const pastRuns = runs.data?.items.filter(({ trigger_node }) => trigger_node === trigger) ?? [];
  const load = useMutation({
    mutationFn: async ({ id, event_id }: RunItem): Promise<PastRunInput> => ({
      input: await api.get("/api/runs/:run/input", { params: { run: id } }),
      event: event_id,
    }),
    onSuccess: onPick,
    onError: toastError,
  });
  if (pastRuns.length === 0) return null;
  return (
    <Field label="Past run">
      {(control) => (
        <SelectInput
          {...control}
          value={load.variables?.id ?? ""}
          onChange={({ target }) => {
            const run = pastRuns.find(({ id }) => id === target.value);
            if (run) load.mutate(run);
          }}
        >
          <option value="">Choose a run to use its input</option>
          {pastRuns.map(({ id, created_at, status }) => (
            <option key={id} value={id}>
              {ago(created_at)}, {status}
            </option>
          ))}
        </SelectInput>
      )}
    </Field>
  );
}
