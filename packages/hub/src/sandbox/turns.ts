/**
 * Who is next where several tenants wait: each in turn, and of one tenant what came first. Nothing
 * takes longer because much waits, and of a tenant for whom nothing does, nothing is kept.
 */
export interface Turns<Job> {
  /** Answers with how to leave the line; once its turn has come, that does nothing. */
  add(tenant: string, job: Job): () => void;
  next(): Job | undefined;
}

/** A place in a line, which is a ring: the line itself stands between its last and its first. */
interface Place<One> {
  one: One | undefined;
  before: Place<One>;
  after: Place<One>;
}

function openLine<One>(): Place<One> {
  const line = { one: undefined } as Place<One>;
  line.before = line.after = line;
  return line;
}

/** A line that nobody is in, or a place that has left its line. */
const isAlone = (place: Place<unknown>): boolean => place.after === place;

function join<One>(line: Place<One>, one: One): Place<One> {
  const place = { one, before: line.before, after: line };
  line.before.after = place;
  line.before = place;
  return place;
}

function leave<One>(place: Place<One>): One | undefined {
  place.before.after = place.after;
  place.after.before = place.before;
  place.before = place.after = place;
  return place.one;
}

export function createTurns<Job>(): Turns<Job> {
  const turns = openLine<Queue>();
  const queues = new Map<string, Queue>();
  interface Queue {
    tenant: string;
    jobs: Place<Job>;
    turn: Place<Queue>;
  }

  const open = (tenant: string): Queue => {
    const queue = { tenant, jobs: openLine<Job>() } as Queue;
    queue.turn = join(turns, queue);
    queues.set(tenant, queue);
    return queue;
  };
  const dropIfEmpty = ({ tenant, jobs, turn }: Queue) => {
    if (!isAlone(jobs)) return;
    leave(turn);
    queues.delete(tenant);
  };

  return {
    add(tenant, job) {
      const queue = queues.get(tenant) ?? open(tenant);
      const place = join(queue.jobs, job);
      return () => {
        if (isAlone(place)) return; // else a later queue of the tenant's could be dropped
        leave(place);
        dropIfEmpty(queue);
      };
    },
    next() {
      const queue = leave(turns.after);
      if (!queue) return undefined;
      queue.turn = join(turns, queue);
      const job = leave(queue.jobs.after);
      dropIfEmpty(queue);
      return job;
    },
  };
}
