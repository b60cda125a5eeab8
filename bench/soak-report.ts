/** The tables and goals of `soak`. */
import type { Backend, Goal, Result } from "./benchmark.ts";
import type { LoadReport } from "./load.ts";
import type { AttackReport } from "./soak-attacker.ts";
import { attacks as allAttacks, attackRequestsPerSecond, NICENESS } from "./soak-attacks.ts";
import type { Observation } from "./soak-observer.ts";
import type { StoredCheck } from "./soak-stored.ts";
import { median, percentile } from "./statistics.ts";
import { figure, megabytes, percent, table } from "./table.ts";

/** Webhooks per second of the signed load. */
export const RATE = 200;
const GOAL_HEALTH_MS = 150;
const GOAL_BYTES = 2 ** 30;
const GOAL_GROWTH = 0.2;
/** The level of warnings in the log. */
const WARN = 40;

/** A part of the soak. The last part, after the attacks, has no load. */
export interface Part extends Observation {
  name: string;
  load: LoadReport | undefined;
}

export interface Soak {
  backend: Backend;
  parts: Part[];
  attacks: Map<string, AttackReport>;
  isAlive: boolean;
  log: Record<string, unknown>[];
  /** Whether the session that the other tenant opened before the attacks is still open. */
  isSessionOpen: boolean;
  stored: StoredCheck;
}

const isAttacked = ({ name }: Part) => name.startsWith("attacks");
const mergeSorted = (lists: Float64Array[]) =>
  Float64Array.from(lists.flatMap((list) => [...list])).sort();

export function reportSoak(soaks: Soak[]): Result {
  const goals = soaks.flatMap(goalsOf);
  return {
    tables: soaks.flatMap(tablesOf),
    goals,
    isValid: soaks.every(({ isAlive, stored }) => isAlive && isStoredOnce(stored)),
    data: soaks.map(({ parts, attacks, log, ...soak }) => ({
      ...soak,
      attackRequestsPerSecond,
      problems: countProblems(log),
      parts: parts.map(({ health, load, ...part }) => ({
        ...part,
        healthP99: percentile(health, 0.99),
        healthWorst: percentile(health, 1),
        load: load && { ...load, details: undefined },
      })),
      attacks: Object.fromEntries(attacks),
    })),
  };
}

const isStoredOnce = ({ acknowledged, missing, surplus }: StoredCheck) =>
  acknowledged > 0 && missing === 0 && surplus === 0;

function goalsOf({ backend, parts, isAlive, isSessionOpen, stored }: Soak): Goal[] {
  const attacked = parts.filter(isAttacked);
  const loads = attacked.flatMap(({ load }) => load ?? []);
  const accepted = loads.reduce((sum, load) => sum + load.accepted, 0);
  const rejected = loads.reduce((sum, load) => sum + load.completed - load.accepted, 0);
  const failures = loads.reduce((sum, load) => sum + load.failures, 0);
  const latencies = mergeSorted(loads.flatMap(({ details }) => details?.latencies ?? []));
  const health = mergeSorted(attacked.map((part) => part.health));
  const healthFailures = attacked.reduce((sum, part) => sum + part.healthFailures, 0);
  const peak = Math.max(...attacked.map(({ memory }) => memory.peak));
  const medians = attacked.map(({ memory }) => memory.median);
  const half = Math.ceil(medians.length / 2);
  const [first, second] = [median(medians.slice(0, half)), median(medians.slice(half))];
  const bytesAfter = parts.at(-1)?.memory.last ?? Number.NaN;
  const goal = (what: string, isMet: boolean, result: string) => ({
    what: `${backend}: ${what}`,
    isMet,
    result,
  });
  return [
    goal("the hub keeps running", isAlive, isAlive ? "yes" : "it ended"),
    goal(
      "every acknowledged webhook is stored exactly once",
      isStoredOnce(stored),
      `${figure(stored.acknowledged)} acknowledged, ${stored.missing} missing, ${stored.surplus} stored twice`,
    ),
    goal(
      `every webhook is acknowledged during the attacks`,
      rejected + failures === 0,
      `${figure(accepted)} acknowledged (p50 ${figure(percentile(latencies, 0.5))} ms, p99 ${figure(percentile(latencies, 0.99))} ms), ${rejected} rejected, ${failures} without a response`,
    ),
    goal(
      `p99 of /healthz during the attacks at most ${GOAL_HEALTH_MS} ms`,
      healthFailures === 0 && percentile(health, 0.99) <= GOAL_HEALTH_MS,
      `${figure(percentile(health, 0.99))} ms, worst ${figure(percentile(health, 1))} ms, ${healthFailures} without a response`,
    ),
    goal(
      "an idle session of another tenant stays open",
      isSessionOpen,
      isSessionOpen ? "yes" : "no",
    ),
    goal(
      `RSS of the hub at most ${megabytes(GOAL_BYTES)} during the attacks`,
      peak <= GOAL_BYTES,
      `peak ${megabytes(peak)}`,
    ),
    goal(
      `RSS of the second half of the attacks at most ${percent(GOAL_GROWTH)} above the first half`,
      second <= first * (1 + GOAL_GROWTH),
      `${megabytes(first)}, then ${megabytes(second)}`,
    ),
    goal(
      "RSS two minutes after the attacks below their median",
      bytesAfter < median(medians),
      `${megabytes(bytesAfter)} after ${megabytes(median(medians))}`,
    ),
  ];
}

/** Counts the warnings and errors of the log by message; returns the 20 most frequent. */
function countProblems(log: Soak["log"]): [string, number][] {
  const messages = log
    .filter(({ level }) => Number(level) >= WARN)
    .map(({ level, msg, code }) => [level, msg, code].filter(Boolean).join(" "));
  return [...Map.groupBy(messages, (message) => message)]
    .map(([message, all]): [string, number] => [message, all.length])
    .sort(([, a], [, b]) => b - a)
    .slice(0, 20);
}

function tablesOf({ backend, parts, attacks, isAlive, log }: Soak): Result["tables"] {
  return [
    {
      title: `Soak, ${backend}: ${RATE} signed webhooks of 10 KB per second during all attacks`,
      text: table(
        [
          "part",
          "acknowledged",
          "rejected",
          "failed",
          "p50 ms",
          "p99 ms",
          "/healthz p99 ms",
          "worst",
          "CPU",
          "CPU wait",
          "RSS median",
          "peak",
          "last",
          "workers' peak",
        ],
        parts.map(({ name, load, health, cpuShare, cpuWaitShare, memory, workerPeak }) => [
          name,
          load ? figure(load.accepted) : "",
          load ? figure(load.completed - load.accepted) : "",
          load ? figure(load.failures) : "",
          load ? figure(load.latency.p50) : "",
          load ? figure(load.latency.p99) : "",
          figure(percentile(health, 0.99)),
          figure(percentile(health, 1)),
          percent(cpuShare),
          percent(cpuWaitShare),
          megabytes(memory.median),
          megabytes(memory.peak),
          megabytes(memory.last),
          megabytes(workerPeak),
        ]),
      ),
    },
    {
      title: `Attacks, ${backend}: at most ${figure(attackRequestsPerSecond)} requests per second in total, processes with niceness ${NICENESS}`,
      text: table(
        ["attack", "strikes", "at most/min", "requests each", "slowest s", "outcomes"],
        [...attacks].map(([name, { strikes, slowestMs, outcomes }]) => [
          name,
          figure(strikes),
          figure(allAttacks[name]?.strikesPerMinute ?? Number.NaN),
          figure(allAttacks[name]?.requests ?? Number.NaN),
          figure(slowestMs / 1000),
          Object.entries(outcomes)
            .map(([outcome, count]) => `${count} × ${outcome}`)
            .join(", "),
        ]),
      ),
    },
    {
      title: `Warnings and errors in the log, ${backend}`,
      text: table(
        ["message", "count"],
        countProblems(log).map(([message, count]) => [message.slice(0, 160), figure(count)]),
      ),
    },
    ...(isAlive
      ? []
      : [
          {
            title: "Last lines of the log",
            text: log
              .slice(-5)
              .map((line) => JSON.stringify(line))
              .join("\n"),
          },
        ]),
  ];
}
