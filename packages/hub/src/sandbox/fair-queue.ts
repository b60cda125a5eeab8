/**
 * Queues jobs by key, such as a tenant. Keys are served round robin, and the jobs of a key in FIFO
 * order. Adding, removing and taking a job are O(1), except that `next` skips blocked keys one by one.
 * A key without jobs uses no memory.
 */
export interface FairQueue<Job> {
  /** Returns a function that removes the job; it does nothing if the job was already taken. */
  add(key: string, job: Job, position?: "first" | "last"): () => void;
  /** Takes the next job of the next key that is not blocked. */
  next(isBlocked?: (key: string) => boolean): Job | undefined;
  /** Takes the next job of this key if `isWanted` returns true for it. */
  nextOf(key: string, isWanted: (job: Job) => boolean): Job | undefined;
  /** The number of jobs by key. It counts them one by one. */
  sizes(): Map<string, number>;
}

/** A node of a circular doubly linked list; the list's head is a node without a value. */
interface ListNode<Value> {
  value: Value | undefined;
  previous: ListNode<Value>;
  next: ListNode<Value>;
}

function createList<Value>(): ListNode<Value> {
  const head = { value: undefined } as ListNode<Value>;
  head.previous = head.next = head;
  return head;
}

/** True for the head of an empty list, and for a removed node. */
const isUnlinked = (node: ListNode<unknown>): boolean => node.next === node;

/** Before the head is the end of the list. */
function insertBefore<Value>(next: ListNode<Value>, value: Value): ListNode<Value> {
  const node = { value, previous: next.previous, next };
  next.previous.next = node;
  next.previous = node;
  return node;
}

function remove<Value>(node: ListNode<Value>): Value | undefined {
  node.previous.next = node.next;
  node.next.previous = node.previous;
  node.previous = node.next = node;
  return node.value;
}

export function createFairQueue<Job>(): FairQueue<Job> {
  interface KeyQueue {
    key: string;
    jobs: ListNode<Job>;
    /** The node of this queue in `keys`. */
    position: ListNode<KeyQueue>;
  }
  const keys = createList<KeyQueue>();
  const queues = new Map<string, KeyQueue>();

  const openQueue = (key: string): KeyQueue => {
    const queue = { key, jobs: createList<Job>() } as KeyQueue;
    queue.position = insertBefore(keys, queue);
    queues.set(key, queue);
    return queue;
  };
  const dropIfEmpty = ({ key, jobs, position }: KeyQueue) => {
    if (!isUnlinked(jobs)) return;
    remove(position);
    queues.delete(key);
  };

  return {
    add(key, job, position = "last") {
      const queue = queues.get(key) ?? openQueue(key);
      const { jobs } = queue;
      const node = insertBefore(position === "first" ? jobs.next : jobs, job);
      return () => {
        // Without this, a second call could drop a newer queue of the same key.
        if (isUnlinked(node)) return;
        remove(node);
        dropIfEmpty(queue);
      };
    },
    next(isBlocked = () => false) {
      let position = keys.next;
      while (position.value && isBlocked(position.value.key)) position = position.next;
      const queue = position.value;
      if (!queue) return undefined;
      // The key moves to the end of the round.
      remove(position);
      queue.position = insertBefore(keys, queue);
      const job = remove(queue.jobs.next);
      dropIfEmpty(queue);
      return job;
    },
    nextOf(key, isWanted) {
      const queue = queues.get(key);
      const job = queue?.jobs.next.value;
      if (!queue || job === undefined || !isWanted(job)) return undefined;
      remove(queue.jobs.next);
      dropIfEmpty(queue);
      return job;
    },
    sizes() {
      const sizes = new Map<string, number>();
      for (const [key, { jobs }] of queues) {
        let size = 0;
        for (let node = jobs.next; node !== jobs; node = node.next) size += 1;
        sizes.set(key, size);
      }
      return sizes;
    },
  };
}
