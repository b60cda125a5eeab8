/** Controls that filter the list of runs by status, flow, cause and time. */

import { useQuery } from "@tanstack/react-query";
import { Clock, Workflow, Zap } from "lucide-react";
import { api } from "../api/client.ts";
import { useIsAdmin } from "../app/session.ts";
import { Button } from "../ui/button.tsx";
import { Menu } from "../ui/menu.tsx";
import { Segments } from "../ui/segments.tsx";
import {
  CAUSES,
  causeName,
  RUN_VIEWS,
  type RunFilter,
  type RunFilterView,
  type RunPeriod,
} from "./run-filter.ts";

const VIEW_NAMES: Record<RunFilterView, string> = {
  all: "All",
  active: "Active",
  succeeded: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
};
const PERIOD_NAMES: Record<RunPeriod, string> = {
  "1h": "Last hour",
  "24h": "Last 24 h",
  "7d": "Last 7 days",
};

export function RunFilters({
  filter,
  onChange,
}: {
  filter: RunFilter;
  onChange: (change: Partial<RunFilter>) => void;
}) {
  const isAdmin = useIsAdmin();
  return (
    <>
      <Segments
        label="Status"
        value={filter.view}
        options={RUN_VIEWS.map((value) => ({ value, label: VIEW_NAMES[value] }))}
        onChange={(view) => onChange({ view })}
      />
      {isAdmin && <FlowMenu flow={filter.flow} onChange={(flow) => onChange({ flow })} />}
      <Menu
        label="Cause"
        trigger={<Button icon={Zap}>{filter.cause ? causeName(filter.cause) : "Any cause"}</Button>}
        items={[
          {
            label: "Any cause",
            checked: !filter.cause,
            onSelect: () => onChange({ cause: undefined }),
          },
          ...CAUSES.map((cause) => ({
            label: causeName(cause),
            checked: cause === filter.cause,
            onSelect: () => onChange({ cause }),
          })),
        ]}
      />
      <Menu
        label="Time"
        trigger={
          <Button icon={Clock}>{filter.period ? PERIOD_NAMES[filter.period] : "Any time"}</Button>
        }
        items={[
          {
            label: "Any time",
            checked: !filter.period,
            onSelect: () => onChange({ period: undefined }),
          },
          ...(Object.keys(PERIOD_NAMES) as RunPeriod[]).map((period) => ({
            label: PERIOD_NAMES[period],
            checked: period === filter.period,
            onSelect: () => onChange({ period }),
          })),
        ]}
      />
    </>
  );
}

function FlowMenu({
  flow,
  onChange,
}: {
  flow: string | undefined;
  onChange: (flow?: string) => void;
}) {
  const { data } = useQuery({
    queryKey: ["flows", "palette"],
    queryFn: () => api.get("/api/flows", { query: { limit: 100 } }),
  });
  const name = data?.items.find(({ id }) => id === flow)?.name;
  return (
    <Menu
      label="Flow"
      trigger={
        <Button icon={Workflow} className="max-w-[220px]">
          <span className="truncate">{name ?? (flow ? "Selected flow" : "Any flow")}</span>
        </Button>
      }
      items={[
        { label: "Any flow", checked: !flow, onSelect: () => onChange(undefined) },
        ...(data?.items ?? []).map(({ id, name, app }) => ({
          label: name,
          note: app,
          checked: id === flow,
          onSelect: () => onChange(id),
        })),
      ]}
    />
  );
}
