/** Shows and changes the limits of a tenant: how long events are kept, how many, and their size. */

import type { TenantDetails } from "@signalbox/contract";
import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { chosenTenant } from "../api/tenant.ts";
import { queryClient } from "../app/query-client.ts";
import { useSession } from "../app/session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { DialogForm } from "../ui/dialog-form.tsx";
import { Field, TextInput } from "../ui/field.tsx";
import { bytes, count, plural } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { toasts } from "../ui/toast.tsx";

type Settings = TenantDetails["settings"];

const formatDays = (value: number) => plural(value, "day");

const LIMITS: {
  name: keyof Settings;
  label: string;
  format: (value: number) => string;
  /** Whether only operators may change the limit. */
  isForOperators?: true;
}[] = [
  { name: "processed_days", label: "Days to keep processed events", format: formatDays },
  { name: "pending_days", label: "Days to keep waiting events", format: formatDays },
  {
    name: "max_bytes",
    label: "Maximum bytes of events and runs",
    format: bytes,
    isForOperators: true,
  },
  { name: "quota", label: "Quota of waiting events", format: count, isForOperators: true },
];

const tenantQuery = (id: string) =>
  queryOptions({
    queryKey: ["tenant", id],
    queryFn: () => api.get("/api/tenants/:tenant", { params: { tenant: id } }),
  });

export function TenantLimits() {
  const { data: session } = useSession();
  const id = chosenTenant() ?? session?.tenant ?? "local";
  const tenant = useQuery(tenantQuery(id));
  const [isOpen, setOpen] = useState(false);
  return (
    <section aria-label="Limits of this tenant">
      <Loaded query={tenant} rows={4} height={36}>
        {({ settings, in_force }) => (
          <>
            <div className="mb-2 flex items-center justify-between gap-4">
              <h2 className="type-h2">Limits of this tenant</h2>
              <Button onClick={() => setOpen(true)}>Change the limits</Button>
            </div>
            <dl className="tile mb-4 divide-y divide-line">
              {LIMITS.map(({ name, label, format }) => {
                const value = in_force[name];
                return (
                  <div
                    key={name}
                    className="grid grid-cols-[minmax(0,1fr)_minmax(0,1fr)] gap-4 px-4 py-2"
                  >
                    <dt className="text-ink-2">{label}</dt>
                    <dd>
                      {value === null ? "none" : format(value)}
                      {settings[name] === null && (
                        <span className="text-ink-3"> (the hub’s setting)</span>
                      )}
                    </dd>
                  </div>
                );
              })}
            </dl>
            {isOpen && <LimitsDialog id={id} settings={settings} onClose={() => setOpen(false)} />}
          </>
        )}
      </Loaded>
    </section>
  );
}

function LimitsDialog({
  id,
  settings,
  onClose,
}: {
  id: string;
  settings: Settings;
  onClose: () => void;
}) {
  const { data: session } = useSession();
  const [texts, setTexts] = useState<Partial<Record<keyof Settings, string>>>({});
  // A session is for all tenants if its list of tenants is empty, or if the hub has only one tenant.
  const isOperator = session?.tenants.length === 0 || session?.hub.tenancy === "single";
  const save = useMutation({
    mutationFn: () => {
      const change = Object.entries(texts).map(([name, text]) => [
        name,
        text.trim() === "" ? null : Number(text),
      ]);
      return api.patch("/api/tenants/:tenant", {
        params: { tenant: id },
        body: Object.fromEntries(change),
      });
    },
    onSuccess: (tenant) => {
      queryClient.setQueryData(tenantQuery(id).queryKey, tenant);
      toasts.add({ aspect: "green", title: "The limits are stored" });
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title="Limits of this tenant">
      <DialogForm submit="Store" request={save} onSubmit={() => save.mutate()} onClose={onClose}>
        {LIMITS.filter((limit) => isOperator || !limit.isForOperators).map(({ name, label }) => (
          <Field key={name} label={label} hint="Blank: the hub’s setting applies.">
            {(control) => (
              <TextInput
                {...control}
                inputMode="decimal"
                value={texts[name] ?? settings[name]?.toString() ?? ""}
                onChange={(event) => setTexts({ ...texts, [name]: event.target.value })}
              />
            )}
          </Field>
        ))}
      </DialogForm>
    </Dialog>
  );
}
