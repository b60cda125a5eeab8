/** The topics of `GET /api/live`, such as `events,changes,runs:ID,flows:ID`. */
export interface TabTopics {
  events: boolean;
  changes: boolean;
  runs: readonly string[];
  flows: readonly string[];
}

/** The maximum number of runs, and of flows. A page of the web UI shows only a few at a time. */
const MAX_FOLLOWED = 20;

/** Returns an error message if the text is not a list of topics. */
export function parseTopics(text: string | null): TabTopics | string {
  const topics = { events: false, changes: false, runs: [] as string[], flows: [] as string[] };
  for (const topic of new Set((text ?? "events,changes").split(",").filter(Boolean))) {
    const [, list, id] = /^(runs|flows):([\w-]{1,100})$/.exec(topic) ?? [];
    if (topic === "events" || topic === "changes") topics[topic] = true;
    else if (id !== undefined) topics[list as "runs" | "flows"].push(id);
    else
      return `unknown topic ${JSON.stringify(topic.slice(0, 100))}: use events, changes, runs:ID or flows:ID`;
  }
  return topics.runs.length > MAX_FOLLOWED || topics.flows.length > MAX_FOLLOWED
    ? `must have at most ${MAX_FOLLOWED} runs and ${MAX_FOLLOWED} flows`
    : topics;
}
