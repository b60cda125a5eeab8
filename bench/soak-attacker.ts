/**
 * The process of one attack of soak-attacks.ts. Repeats the attack until the process is stopped. It has a
 * low priority, because real attackers run on other machines and do not use the hub's CPU.
 */
import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attack, type AttackTarget, attacks, NICENESS } from "./soak-attacks.ts";

export interface AttackReport {
  strikes: number;
  /** The number of requests by outcome. A failed or unfinished strike counts once. */
  outcomes: Record<string, number>;
  slowestMs: number;
}

export type AttackerCommand = AttackTarget | "start" | "stop";
export type AttackerMessage = "prepared" | AttackReport;

const report: AttackReport = { strikes: 0, outcomes: {}, slowestMs: 0 };
const count = (outcome: string | number) => {
  report.outcomes[outcome] = (report.outcomes[outcome] ?? 0) + 1;
};
let isStriking = false;
const { promise: started, resolve: start } = Promise.withResolvers<void>();
const send = (message: AttackerMessage) => process.send?.(message);

async function run({ strikesPerMinute, prepare }: Attack, target: AttackTarget): Promise<void> {
  const strike = await prepare(target);
  send("prepared");
  await started;
  for (;;) {
    const startedAt = performance.now();
    isStriking = true;
    await strike().then(
      (outcomes) => outcomes.forEach(count),
      // `fetch` reports the reason of a failed request as the cause.
      (error: Error) => count((error.cause as Error | undefined)?.message ?? error.message),
    );
    isStriking = false;
    const tookMs = performance.now() - startedAt;
    report.strikes += 1;
    report.slowestMs = Math.max(report.slowestMs, tookMs);
    await sleep(Math.max(0, 60_000 / strikesPerMinute - tookMs));
  }
}

setPriority(NICENESS);
const attack = attacks[process.argv[2] as string] as Attack;
process.on("message", (command: AttackerCommand) => {
  if (command === "stop") {
    if (isStriking) count("unfinished");
    send(report);
  } else if (command === "start") start();
  else void run(attack, command);
});
process.on("disconnect", () => process.exit());
