/** `npm run bench -- memory`: a hub that has taken many deliveries is no larger than after the first. */
import type { Benchmark } from "./benchmark.ts";
import { findCli, startHub } from "./hub-process.ts";
import { startLoad } from "./load-process.ts";
import { complaints, measure } from "./measure.ts";
import { residentBytes } from "./process-facts.ts";
import { figure, megabytes, percent, table } from "./table.ts";

const STEPS = 10;
const GOAL_GROWTH = 0.2;
const SAMPLE_MS = 200;

export const memory: Benchmark = async ({ quick, hub: asked, tell }) => {
  const step = quick ? 2_000 : 20_000;
  const load = startLoad();
  const hub = await startHub({ cli: findCli(asked), name: "hub, SQLite" });
  const series: { deliveries: number; bytes: number }[] = [
    { deliveries: 0, bytes: residentBytes(hub.pid) },
  ];
  const troubles: string[] = [];
  let most = 0;
  const sampling = setInterval(() => {
    most = Math.max(most, residentBytes(hub.pid));
  }, SAMPLE_MS);
  try {
    for (let at = 1; at <= STEPS; at += 1) {
      tell(`memory: deliveries up to ${figure(at * step)}`);
      const measured = await measure(load, hub, { connections: 64, requests: step, seconds: 120 });
      troubles.push(...complaints(hub.name, measured));
      if (measured.answered < step)
        troubles.push(`only ${measured.answered} of ${step} deliveries were answered in time`);
      series.push({ deliveries: at * step, bytes: residentBytes(hub.pid) });
    }
  } finally {
    clearInterval(sampling);
    await hub.stop();
  }
  const first = series[1]?.bytes ?? Number.NaN;
  const last = series.at(-1)?.bytes ?? Number.NaN;
  const growth = last / first - 1;
  return {
    tables: [
      {
        title: "Memory: RSS of the hub, 64 at once, SQLite",
        text: table(
          ["deliveries", "RSS", "to the first step"],
          series.map(({ deliveries, bytes }) => [
            figure(deliveries).replace("0.00", "0"),
            megabytes(bytes),
            deliveries === 0 ? "" : percent(bytes / first),
          ]),
        ),
      },
      { title: "At most, sampled during the run", text: megabytes(most) },
      ...(troubles.length > 0 ? [{ title: "Invalid", text: troubles.join("\n") }] : []),
    ],
    goals: [
      {
        what: `RSS after ${figure(STEPS * step)} deliveries within ${percent(GOAL_GROWTH)} of that after ${figure(step)}`,
        met: growth <= GOAL_GROWTH,
        found: `${growth >= 0 ? "+" : ""}${(growth * 100).toFixed(1)} %`,
      },
    ],
    valid: troubles.length === 0,
    data: { series, most, growth },
  };
};
