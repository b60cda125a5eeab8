/**
 * Receives webhooks and callbacks on Node. The request is read from the socket without a Web `Request`:
 * building one, with its stream, would cost more than verifying and storing the event.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  incompleteBody,
  type ReceiveRequest,
  tooLarge,
} from "../../events/admit/receive-request.ts";
import type { BodyBudget } from "../../kernel/http/byte-budgets.ts";
import { type IngestOutcome, type Rejection, toAnswer } from "../../kernel/http/ingest-outcome.ts";
import { BODY_ABORTED, sendAnswer } from "./http-server.ts";

export interface ReceiverOptions {
  receive: ReceiveRequest;
  isStopping: () => boolean;
  bodyBudget: BodyBudget;
  lingerMs: number;
}

const NO_VALUES: readonly string[] = [];

export function createReceiver({ receive, isStopping, bodyBudget, lingerMs }: ReceiverOptions) {
  const readBody = createBodyReader(bodyBudget);

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const header = (name: string) => headerValues(request.rawHeaders, name);
    let releaseBody = () => {};
    const onLargeBody = (release: () => void) => {
      releaseBody = release;
    };
    let outcome: IngestOutcome;
    try {
      outcome = await receive({
        url: request.url ?? "",
        peer: request.socket.remoteAddress ?? "",
        method: request.method ?? "",
        header,
        headerNames: () => Object.keys(request.headersDistinct),
        body: (limit) => readBody(request, response, header, limit, onLargeBody),
      });
    } finally {
      releaseBody();
    }
    sendAnswer(request, response, toAnswer(outcome), { lingerMs, close: isStopping() });
  };
}

/** All values of one header. `headersDistinct` would build lists for all headers. */
function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  let values: string[] | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const rawName = rawHeaders[at] as string;
    if (rawName.length !== name.length || rawName.toLowerCase() !== name) continue;
    const value = rawHeaders[at + 1] as string;
    if (values) values.push(value);
    else values = [value];
  }
  return values ?? NO_VALUES;
}

/** The bytes of a larger body stay reserved until its request has been processed. */
const MAX_SMALL_BODY = 64 * 1024;

/**
 * Reads bodies from the socket, and reserves their bytes in the budget as they arrive. They are released
 * when the body is complete or rejected, except those of a large complete body: `onLargeBody` gets a
 * function that releases them, since a job may read the body even after its sender has
 * disconnected.
 */
export function createBodyReader(budget: BodyBudget) {
  return function readBody(
    request: IncomingMessage,
    response: ServerResponse,
    header: (name: string) => readonly string[],
    limit: number,
    onLargeBody: (release: () => void) => void,
  ): Promise<Uint8Array | Rejection> {
    const length = Number(header("content-length")[0] ?? limit);
    if (length > limit) return Promise.resolve(tooLarge(limit));
    if (header("expect").length > 0) response.writeContinue();

    return new Promise((resolve) => {
      const bytes = new GrowingBytes(length);
      let isFinished = false;
      // The listeners stay attached: removing them would cost more than a further call of `finish`.
      const finish = (result: Uint8Array | Rejection) => {
        if (isFinished) return;
        isFinished = true;
        const { size } = bytes;
        bytes.free();
        if (size > MAX_SMALL_BODY && result instanceof Uint8Array)
          onLargeBody(() => budget.release(size));
        else budget.release(size);
        resolve(result);
      };
      const onClose = () => finish(incompleteBody());
      request.on("data", (chunk: Buffer) => {
        if (isFinished) return; // read and discarded, so that the client can read the response
        const { size } = bytes;
        const rejected =
          size + chunk.byteLength > limit
            ? tooLarge(limit)
            : budget.reserve(chunk.byteLength, size);
        if (rejected) finish(rejected);
        else bytes.append(chunk);
      });
      request.on("end", () => !isFinished && finish(bytes.end()));
      request.on("close", onClose);
      request.on("error", onClose);
      request.on(BODY_ABORTED, finish);
    });
  };
}

const MAX_SMALL_BYTES = 256 * 1024;
const GROWTH_BYTES = 256 * 1024;
const EMPTY = new Uint8Array(0);

/**
 * The bytes of a body that is still arriving, at most `maxSize`.
 *
 * Above 256 KiB, the bytes are in a resizable buffer: it takes memory only for the bytes that have
 * arrived, and `free` returns it to the operating system immediately. The memory of other buffers waits
 * for the garbage collector, which does not run in an idle process.
 */
export class GrowingBytes {
  size = 0;
  readonly #maxSize: number;
  #bytes: Uint8Array = EMPTY;
  #large: ArrayBuffer | undefined;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  append(chunk: Uint8Array): void {
    const total = this.size + chunk.byteLength;
    if (this.size === 0)
      this.#bytes = chunk; // most bodies arrive in one chunk, which is not copied
    else {
      if (total > this.#bytes.length) this.#bytes = this.#grow(total);
      this.#bytes.set(chunk, this.size);
    }
    this.size = total;
  }

  /** Returns the appended bytes. No more can be appended afterwards. */
  end(): Uint8Array {
    if (!this.#large)
      return this.#bytes.length === this.size ? this.#bytes : this.#bytes.subarray(0, this.size);
    // The result has a fixed length, since not every function accepts a resizable buffer.
    this.#large.resize(this.size);
    return Buffer.from(this.#large.transferToFixedLength());
  }

  free(): void {
    if (this.#large && !this.#large.detached) this.#large.transfer(0);
    this.#large = undefined;
    this.#bytes = EMPTY;
  }

  #grow(total: number): Uint8Array {
    const existing = this.#bytes.subarray(0, this.size);
    if (total <= MAX_SMALL_BYTES) {
      const grown = Buffer.allocUnsafeSlow(Math.min(2 * total, MAX_SMALL_BYTES, this.#maxSize));
      grown.set(existing);
      return grown;
    }
    const length = Math.min(total + GROWTH_BYTES, this.#maxSize);
    if (this.#large) {
      this.#large.resize(length);
      return new Uint8Array(this.#large);
    }
    this.#large = new ArrayBuffer(length, { maxByteLength: this.#maxSize });
    const grown = new Uint8Array(this.#large);
    grown.set(existing);
    return grown;
  }
}
