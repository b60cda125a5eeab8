/** The header of the inbox, with the number of waiting events, rates and failures. */

import type { Stats } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "../api/client.ts";
import { duration } from "../ui/format.ts";
import { Sparkline } from "../ui/sparkline.tsx";
import { SplitFlap } from "../ui/split-flap.tsx";
import { figuresOf, formatRate } from "./figures.ts";

export const statsQuery = {
  queryKey: ["stats"],
  queryFn: () => api.get("/api/stats", { query: { window: "1h" } }),
  refetchInterval: 15_000,
};

export function InboxHeader() {
  const { data } = useQuery(statsQuery);
  return (
    <header className="flex min-h-[71px] flex-none items-center overflow-hidden border-line border-b py-[13px] pl-5">
      <h1 className="mr-7 type-h1">Inbox</h1>
      {data && (
        <>
          <Gauge>
            <SplitFlap value={data.events.pending} label="waiting events" />
            <span className="type-label text-ink-3" aria-hidden>
              waiting
              <br />
              events
            </span>
          </Gauge>
          <Figures stats={data} />
        </>
      )}
    </header>
  );
}

const Gauge = ({ children }: { children: ReactNode }) => (
  <div className="flex h-11 flex-none items-center gap-3 border-line border-l px-6">{children}</div>
);

function Figure({
  value,
  unit,
  label,
  isAlarm = false,
}: {
  value: string;
  unit?: string;
  label: string;
  isAlarm?: boolean;
}) {
  return (
    <div>
      <div
        className={`font-semibold text-[19px]/[22px] tracking-[-.01em] ${isAlarm ? "text-red" : ""}`}
      >
        {value}
        {unit && <small className="ml-[3px] type-meta text-ink-3">{unit}</small>}
      </div>
      <div className="type-label text-ink-3">{label}</div>
    </div>
  );
}

/** On a narrow page, hides a sparkline to leave space for the figures. */
const HIDDEN_IF_NARROW = "max-[1430px]:hidden";

function Figures({ stats }: { stats: Stats }) {
  const { eventsPerMinute, runsInDay, failedInHour, p95Ms, bars } = figuresOf(stats);
  const [p95 = "–", p95Unit = ""] = p95Ms === null ? [] : duration(p95Ms).split(" ");
  return (
    <>
      <Gauge>
        <Figure value={formatRate(eventsPerMinute)} unit="/ min" label="events" />
        <Sparkline values={bars.events} label="events in the last minutes" />
      </Gauge>
      <Gauge>
        <Figure value={runsInDay} unit="in 24 h" label="runs" />
        <Sparkline values={bars.runs} label="runs in the last minutes" />
      </Gauge>
      <Gauge>
        <Figure
          value={failedInHour}
          unit="failed"
          label="in the last hour"
          isAlarm={failedInHour !== "0"}
        />
        <Sparkline
          values={bars.failed}
          label="failed runs in the last minutes"
          className={HIDDEN_IF_NARROW}
        />
      </Gauge>
      <Gauge>
        <Figure value={p95} unit={p95Unit} label="p95 run duration" />
        <Sparkline
          values={bars.p95Ms}
          label="p95 run duration in the last minutes"
          className={HIDDEN_IF_NARROW}
        />
      </Gauge>
    </>
  );
}
