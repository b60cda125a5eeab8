import { type CallbackReason, CODES } from "./protocol.ts";

interface Details {
  notFound: { kind: "event" | "subscription" };
  forbidden: undefined;
  exhausted: { limit: number };
  unsupported: { feature: string };
  callbackEndpoint: { reason: CallbackReason };
}

/** An error that the draft defines; the SDK sends its code, message and data to the client. */
export class EventsError<Kind extends keyof Details = keyof Details> extends Error {
  readonly code: number;
  readonly data: Details[Kind];
  constructor(kind: Kind, message: string, data: Details[Kind]) {
    super(message);
    this.code = CODES[kind];
    this.data = data;
  }
}
