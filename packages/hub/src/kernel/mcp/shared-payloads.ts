interface StoredEvent {
  id: string;
  tenant: string;
  size: number;
}

const MAX_BYTES = 16 * 1024 * 1024;

export function createSharedPayloads<Event extends StoredEvent, Payload>(
  load: (event: Event) => Promise<Payload>,
  maxBytes = MAX_BYTES,
) {
  const cache = new Map<string, { size: number; payload: Promise<Payload> }>();
  const lastReadOf = new Map<string, Promise<unknown>>();
  let bytes = 0;

  const evict = (id: string) => {
    bytes -= cache.get(id)?.size ?? 0;
    cache.delete(id);
  };

  return {
    read(event: Event): Promise<Payload> {
      const { id, tenant, size } = event;
      const cached = cache.get(id);
      if (cached) return cached.payload;
      const payload = (lastReadOf.get(tenant) ?? Promise.resolve()).then(() => load(event));
      cache.set(id, { size, payload });
      bytes += size;
      for (const oldest of cache.keys()) {
        if (bytes <= maxBytes || oldest === id) break;
        evict(oldest);
      }
      const readDone = payload.then(
        () => {},
        () => evict(id),
      );
      lastReadOf.set(tenant, readDone);
      void readDone.then(() => {
        if (lastReadOf.get(tenant) === readDone) lastReadOf.delete(tenant);
      });
      return payload;
    },
    clear(): void {
      cache.clear();
      bytes = 0;
    },
  };
}
