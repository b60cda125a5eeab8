/**
 * The part of Cloudflare's runtime that we use. The official types redeclare globals of @types/node, so
 * one program cannot include both. Add further types as needed.
 */
declare module "cloudflare:workers" {
  /** The bindings. A worker adds its own by augmenting this module. */
  export interface Env {}
  export const env: Env;

  export interface SqlStorage {
    exec<Row extends Record<string, unknown>>(sql: string, ...params: unknown[]): SqlCursor<Row>;
    readonly databaseSize: number;
  }

  export interface SqlCursor<Row> extends Iterable<Row> {
    toArray(): Row[];
    /** Throws unless the result is exactly one row. */
    one(): Row;
    readonly rowsRead: number;
    readonly rowsWritten: number;
  }

  export interface DurableObjectStorage {
    readonly sql: SqlStorage;
    /** For synchronous work only: the transaction ends when `work` returns, even if it returns a promise. */
    transactionSync<Result>(work: () => Result): Result;
    getAlarm(): Promise<number | null>;
    setAlarm(time: number | Date): Promise<void>;
    deleteAlarm(): Promise<void>;
    deleteAll(): Promise<void>;
    readonly kv: {
      get<Value>(key: string): Value | undefined;
      put(key: string, value: unknown): void;
    };
    sync(): Promise<void>;
  }

  export interface DurableObjectId {
    readonly name?: string;
    toString(): string;
  }

  export interface DurableObjectState {
    readonly id: DurableObjectId;
    readonly storage: DurableObjectStorage;
    /** Accepts a socket that stays open while the object is evicted. */
    acceptWebSocket(socket: HibernatableSocket): void;
    getWebSockets(): HibernatableSocket[];
    blockConcurrencyWhile<Result>(work: () => Promise<Result>): Promise<Result>;
    waitUntil(work: Promise<unknown>): void;
    /** Terminates the object like a crash. */
    abort(reason: string): void;
  }

  export interface HibernatableSocket {
    send(text: string): void;
    close(code?: number, reason?: string): void;
    /** Survives an eviction; at most 16 KiB. */
    serializeAttachment(value: unknown): void;
    deserializeAttachment(): unknown;
  }

  /** A global in workerd: the socket of the client, and the socket of the object. */
  export type SocketPair = new () => { 0: unknown; 1: HibernatableSocket };

  /** The binding of static assets. */
  export interface Fetcher {
    fetch(request: Request | string | URL, init?: RequestInit): Promise<Response>;
  }

  export abstract class DurableObject<Bindings = Env> {
    constructor(ctx: DurableObjectState, env: Bindings);
    protected readonly ctx: DurableObjectState;
    protected readonly env: Bindings;
  }

  /** Methods are remote calls, so each returns a promise. */
  export type DurableObjectStub<T> = {
    [K in keyof T as T[K] extends (...args: never) => unknown ? K : never]: T[K] extends (
      ...args: infer Args
    ) => infer Result
      ? (...args: Args) => Promise<Awaited<Result>>
      : never;
  };

  export interface DurableObjectNamespace<T> {
    getByName(name: string): DurableObjectStub<T>;
    idFromName(name: string): DurableObjectId;
    newUniqueId(): DurableObjectId;
    get(id: DurableObjectId): DurableObjectStub<T>;
  }
}

declare module "cloudflare:test" {
  import type {
    DurableObjectId,
    DurableObjectNamespace,
    DurableObjectState,
    DurableObjectStub,
  } from "cloudflare:workers";

  /** Runs `work` inside the object with direct access to its storage. */
  export function runInDurableObject<T, Result>(
    stub: DurableObjectStub<T>,
    work: (instance: T, state: DurableObjectState) => Result | Promise<Result>,
  ): Promise<Result>;
  /** Runs the object's alarm now; returns whether one was set. */
  export function runDurableObjectAlarm<T>(stub: DurableObjectStub<T>): Promise<boolean>;
  /** Evicts the instance but keeps its storage, as Cloudflare does with an idle object. */
  export function evictDurableObject<T>(stub: DurableObjectStub<T>): Promise<void>;
  export function listDurableObjectIds<T>(
    namespace: DurableObjectNamespace<T>,
  ): Promise<DurableObjectId[]>;
  /** Deletes the data of all bindings. */
  export function reset(): Promise<void>;
}

/** Bundlers for Workers import a `.wasm` file as a compiled module. */
declare module "@jitl/quickjs-wasmfile-release-sync/wasm" {
  const engine: WebAssembly.Module;
  export default engine;
}

/** The build bundles these programs: see isolated-programs-plugin.ts. */
declare module "signalbox:isolated-programs" {
  const script: string;
  export default script;
}
