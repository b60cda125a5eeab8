/** Takes the input of a past run from the same trigger. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { useMutation } from "@tanstack/react-query";
import { api, path } from "../api/client.ts";
import type { RunItem } from "../api/types.ts";
import { usePastRuns } from "../panel/use-past-runs.ts";
import { Field, SelectInput } from "../ui/field.tsx";
import { ago } from "../ui/format.ts";
import { toastError } from "../ui/toast.tsx";

export interface Picked {
  input: JsonObject;
  /** The event that was the input. */
  event: string | null;
}

export function PastInput({
  flow,
  trigger,
  onPick,
}: {
  flow: string;
  trigger: string;
  onPick: (picked: Picked) => void;
}) {
  const runs = usePastRuns(flow);
  const past = runs.data?.items.filter(({ trigger_node }) => trigger_node === trigger) ?? [];
  const load = useMutation({
    mutationFn: async ({ id, event_id }: RunItem): Promise<Picked> => ({
      input: await api.get<JsonObject>(path`/api/runs/${id}/input`),
      event: event_id,
    }),
    onSuccess: onPick,
    onError: toastError,
  });
  if (past.length === 0) return null;
  return (
    <Field label="As in a past run">
      {(control) => (
        <SelectInput
          {...control}
          value={load.variables?.id ?? ""}
          onChange={({ target }) => {
            const run = past.find(({ id }) => id === target.value);
            if (run) load.mutate(run);
          }}
        >
          <option value="">Choose a run to use its input</option>
          {past.map(({ id, created_at, status }) => (
            <option key={id} value={id}>
              {ago(created_at)}, {status}
            </option>
          ))}
        </SelectInput>
      )}
    </Field>
  );
}
