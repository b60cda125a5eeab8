/** `npm run bench -- memory`: resident memory of the hub while it receives many webhooks. */
import type { Benchmark } from "./benchmark.ts";
import { findCli, startHub } from "./hub-process.ts";
import { startLoad } from "./load-process.ts";
import { invalidReasons, measure } from "./measure.ts";
import { residentBytes } from "./process-stats.ts";
import { figure, megabytes, percent, table } from "./table.ts";

const STEPS = 10;
const GOAL_GROWTH = 0.2;
const SAMPLE_MS = 200;

export const memory: Benchmark = async ({ quick, hub: cliPath, reportProgress }) => {
  const step = quick ? 2_000 : 20_000;
  const load = startLoad();
  const hub = await startHub({ cli: findCli(cliPath), name: "hub, SQLite" });
  const series: { webhooks: number; bytes: number }[] = [
    { webhooks: 0, bytes: residentBytes(hub.pid) },
  ];
  const problems: string[] = [];
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentBytes(hub.pid));
  }, SAMPLE_MS);
  try {
    for (let at = 1; at <= STEPS; at += 1) {
      reportProgress(`memory: webhooks up to ${figure(at * step)}`);
      const measured = await measure(load, hub, { connections: 64, requests: step, seconds: 120 });
      problems.push(...invalidReasons(hub.name, measured));
      if (measured.completed < step)
        problems.push(`only ${measured.completed} of ${step} webhooks got a response in time`);
      series.push({ webhooks: at * step, bytes: residentBytes(hub.pid) });
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
        title: "Memory: RSS of the hub, concurrency 64, SQLite",
        text: table(
          ["webhooks", "RSS", "relative to the first step"],
          series.map(({ webhooks, bytes }) => [
            figure(webhooks),
            megabytes(bytes),
            webhooks === 0 ? "" : percent(bytes / first),
          ]),
        ),
      },
      { title: "Peak RSS", text: megabytes(peak) },
      ...(problems.length > 0 ? [{ title: "Invalid", text: problems.join("\n") }] : []),
    ],
    goals: [
      {
        what: `RSS after ${figure(STEPS * step)} webhooks at most ${percent(GOAL_GROWTH)} above RSS after ${figure(step)}`,
        isMet: growth <= GOAL_GROWTH,
        result: `${growth >= 0 ? "+" : ""}${(growth * 100).toFixed(1)} %`,
      },
    ],
    isValid: problems.length === 0,
    data: { series, peak, growth },
  };
};
