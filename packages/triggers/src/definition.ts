/** The author of a server declares each event type, its params and its data in a trigger definition. */
import type { JsonObject } from "./json.ts";
import type { InputOf, ObjectSchema, OutputOf, ParamsOf, Schema } from "./schema.ts";

/** A client's request for the events of one type. */
export interface Subscription<Params = JsonObject> {
  connectionId: string;
  /** Null if the client sends no ids: then it has one subscription per type. */
  subscriptionId: string | null;
  type: string;
  params: Params;
}

export interface TriggerDefinition<
  Type extends string = string,
  Params extends ObjectSchema<object> = ObjectSchema,
  Payload extends Schema<object> = Schema<object, object>,
> {
  /** The name of the event type, such as `issue.opened`. */
  type: Type;
  title?: string;
  /** Says when the trigger fires, for people and agents who choose a trigger. */
  description: string;
  /**
   * The params by which a subscriber can filter events. Each key is a path into the data, such as
   * `repo` or `issue.labels[].name`. A subscription gets the events whose data has the same value at
   * this path. A default prefills forms: a param that the subscriber omits matches every event.
   */
  params?: Params;
  /** The data of an event: an object. */
  payload?: Payload;
  /** An example of the data. */
  sample?: InputOf<Payload>;
  /** Returns whether an event matches the params. By default, each param is compared with the data. */
  matches?(params: ParamsOf<Params>, data: OutputOf<Payload>): boolean;
  /**
   * Called for a new subscription, and for one whose params have changed. If it throws, the client
   * gets the message and tries again, so it can be called more than once.
   */
  onSubscribe?(subscription: Subscription<ParamsOf<Params>>): unknown;
  /**
   * Called when a subscription has ended. It is also called when params have changed, with the former
   * params.
   */
  onUnsubscribe?(subscription: Subscription<ParamsOf<Params>>): unknown;
}

/** Infers the types of the hooks from `params` and `payload`. */
export const defineTrigger = <
  const Type extends string,
  Params extends ObjectSchema<object> = ObjectSchema,
  Payload extends Schema<object> = Schema<object, object>,
>(
  definition: TriggerDefinition<Type, Params, Payload>,
): TriggerDefinition<Type, Params, Payload> => definition;

/** The type of the data that `notify` takes for a definition. */
export type DataOf<Definition> = Definition extends { payload?: infer Payload }
  ? NonNullable<Payload> extends Schema
    ? InputOf<NonNullable<Payload>>
    : object
  : object;
