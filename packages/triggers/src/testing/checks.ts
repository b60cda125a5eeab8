/** The checks of `testTriggers`, in the order in which they run. */
import type { Callback } from "./callback-receiver.ts";
import {
  isNumber,
  type ListedTrigger,
  otherParams,
  readTrigger,
  type Values,
} from "./listed-trigger.ts";
import type { ToolAnswer } from "./mcp-calls.ts";

/** A check throws this error if the server does not have the feature that it tests. */
export class Skip extends Error {}

export interface CheckContext {
  tools: readonly { name: string; inputSchema: Record<string, unknown> }[];
  list: ToolAnswer;
  /** The trigger under test. */
  trigger: ListedTrigger;
  /** All triggers of TRIGGER_LIST. */
  triggers: readonly ListedTrigger[];
  /** The params that the events of `trigger` have. */
  params: Values;
  acceptsSubscriptionIds: boolean;
  /** Each check has its own connections, so that the checks do not disturb each other. */
  connection: Connection;
  otherConnection: Connection;
  /** Returns a callback token that only this check uses. */
  token(name: string): string;
  /** Returns the callbacks with a token of this check. */
  received(): Callback[];
  /** Returns the callbacks that arrived during this check without one of its tokens. */
  receivedWithoutToken(): Callback[];
  /** Sets the status of the responses to callbacks of this check. */
  respondWith(status: (callback: Callback) => number): void;
  /** Waits until `count` callbacks have arrived; with `token`, until `count` of this token have. */
  waitForCallbacks(count: number, token?: string): Promise<Callback[]>;
  /** Waits a while, and fails if more callbacks arrive than `waitForCallbacks` has waited for. */
  expectNoCallback(problem: string): Promise<void>;
}

export interface Connection {
  configure(change?: object, headers?: Record<string, string>): Promise<ToolAnswer>;
  /** Like `configure`, but fails unless the answer is `{ success: true }`. */
  enable(change?: object): Promise<void>;
  disable(change?: object): Promise<void>;
  /** Calls `fire` and waits until it has ended. Fails after a deadline. */
  fire(): Promise<void>;
  /**
   * Starts `fire`. The returned function waits until it has ended. A check that delays the delivery
   * must not wait for `fire` before, because `notify` may resolve only when the event is delivered.
   */
  startFire(): () => Promise<void>;
}

export interface Check {
  name: string;
  needsFire?: true;
  run(context: CheckContext): Promise<void> | void;
}

export function assert(condition: unknown, problem: string): asserts condition {
  if (!condition) throw new Error(problem);
}

const assertRejected = (answer: ToolAnswer, problem: string) =>
  assert(answer.isError || answer.result.success === false, problem);

const tokensOf = (callbacks: readonly Callback[]) => callbacks.map(({ token }) => token);

/** Skips a check of several subscriptions of a type if the server does not accept ids. */
function requireSubscriptionIds({ acceptsSubscriptionIds }: CheckContext): void {
  if (!acceptsSubscriptionIds) throw new Skip("the server does not accept subscriptionId");
}

/** Returns a trigger of another type that can be enabled without params. */
function findOtherTrigger(
  { type }: ListedTrigger,
  triggers: readonly ListedTrigger[],
): ListedTrigger {
  const trigger = triggers.find(
    (other) => other.type !== type && other.params.every(({ isRequired }) => !isRequired),
  );
  if (!trigger) throw new Skip("the server has no other type without required params");
  return trigger;
}

export const checks: Check[] = [
  {
    name: "offers the tools TRIGGER_LIST and TRIGGER_CONFIGURE",
    run({ tools }) {
      for (const name of ["TRIGGER_LIST", "TRIGGER_CONFIGURE"])
        assert(
          tools.some((tool) => tool.name === name),
          `the tool ${name} is missing`,
        );
    },
  },
  {
    name: "describes each trigger with type, description and params",
    run({ list }) {
      assert(!list.isError, `TRIGGER_LIST failed: ${list.text}`);
      const { triggers } = list.result;
      assert(Array.isArray(triggers), "the result has no list `triggers`");
      assert(triggers.length > 0, "the list of triggers is empty");
      const types = triggers.map((entry) => readTrigger(entry).type);
      assert(new Set(types).size === types.length, "two triggers have the same type");
    },
  },
  {
    name: "accepts subscriptionId, so that a client can have several subscriptions of a type",
    run: ({ acceptsSubscriptionIds }) =>
      assert(
        acceptsSubscriptionIds,
        "the inputSchema of TRIGGER_CONFIGURE has no property subscriptionId",
      ),
  },
  {
    name: "enables and disables a trigger",
    async run({ connection }) {
      await connection.enable();
      await connection.disable();
    },
  },
  {
    name: "rejects a request without the header x-mesh-token",
    async run({ connection }) {
      const answer = await connection.configure({}, { "x-mesh-token": "" });
      assertRejected(answer, "TRIGGER_CONFIGURE succeeded without the header");
    },
  },
  {
    name: "rejects an unknown trigger type",
    async run({ connection }) {
      const answer = await connection.configure({ type: "no.such.type" });
      assertRejected(answer, 'TRIGGER_CONFIGURE succeeded for the type "no.such.type"');
    },
  },
  {
    name: "rejects invalid params, and names the field",
    async run({ connection, trigger, params }) {
      const typedParam = trigger.params.find(({ values, type }) => values || isNumber(type));
      const requiredParam = trigger.params.find(({ isRequired }) => isRequired);
      const name = typedParam?.name ?? requiredParam?.name;
      if (name === undefined) throw new Skip("the params of the trigger accept every value");
      const { [name]: _, ...others } = params;
      const invalid = typedParam ? { ...others, [name]: "no-such-value" } : others;
      const answer = await connection.configure({ params: invalid });
      assertRejected(answer, `TRIGGER_CONFIGURE accepted params ${JSON.stringify(invalid)}`);
      assert(answer.text.includes(name), `the message does not name ${name}: ${answer.text}`);
    },
  },
  {
    name: "accepts numbers and booleans as strings",
    async run({ connection, trigger, params }) {
      const typed = trigger.params.filter(({ type }) => isNumber(type) || type === "boolean");
      if (typed.length === 0) throw new Skip("the trigger has no params of these types");
      const strings = typed.map(({ name, type, values }) => [
        name,
        params[name] ?? values?.[0] ?? (type === "boolean" ? "true" : "1"),
      ]);
      await connection.enable({ params: { ...params, ...Object.fromEntries(strings) } });
    },
  },
  {
    name: "rejects a bad callbackUrl and an empty callbackToken",
    async run({ connection }) {
      const badUrl = await connection.configure({ callbackUrl: "not a url" });
      assertRejected(badUrl, 'TRIGGER_CONFIGURE accepted the callbackUrl "not a url"');
      const badToken = await connection.configure({ callbackToken: "" });
      assertRejected(badToken, "TRIGGER_CONFIGURE accepted an empty callbackToken");
    },
  },
  {
    name: "sends an event with token, type, data and id",
    needsFire: true,
    async run({ connection, trigger, token, received, receivedWithoutToken, waitForCallbacks }) {
      await connection.enable();
      await connection.fire();
      await waitForCallbacks(1).catch((error) => {
        const { length } = receivedWithoutToken();
        throw length > 0 ? new Error("the callback has no Authorization: Bearer TOKEN") : error;
      });
      const [callback] = received();
      assert(callback?.method === "POST", `the method is ${callback?.method}, not POST`);
      assert(
        callback.contentType.startsWith("application/json"),
        `the Content-Type is ${callback.contentType}, not application/json`,
      );
      assert(callback.token === token("main"), "the token is not the one of TRIGGER_CONFIGURE");
      const { body } = callback;
      assert(body?.type === trigger.type, `the type is ${body?.type}, not ${trigger.type}`);
      assert(
        typeof body.data === "object" && body.data !== null && !Array.isArray(body.data),
        "data is not an object",
      );
      assert(
        typeof body.id === "string" && body.id !== "",
        "the body has no id: receivers cannot ignore repeats",
      );
    },
  },
  {
    name: "does not send the events of another connection",
    needsFire: true,
    async run({ connection, otherConnection, expectNoCallback }) {
      await connection.enable();
      await otherConnection.fire();
      await expectNoCallback("an event of another connection was sent");
    },
  },
  {
    name: "does not send events that do not match the params",
    needsFire: true,
    async run({ connection, trigger, params, expectNoCallback }) {
      const other = otherParams(trigger, params);
      if (!other) throw new Skip("the params of the trigger have no other values");
      await connection.enable({ params: other });
      await connection.fire();
      await expectNoCallback(
        `a subscription to ${JSON.stringify(other)} got an event of other params`,
      );
    },
  },
  {
    name: "does not send events of a type without subscription",
    needsFire: true,
    async run({ connection, trigger, triggers, expectNoCallback }) {
      const other = findOtherTrigger(trigger, triggers);
      await connection.enable({ type: other.type, params: {} });
      await connection.fire();
      await expectNoCallback(`a subscription to ${other.type} got an event of ${trigger.type}`);
    },
  },
  {
    name: "keeps a subscription when another one of the same type is disabled",
    needsFire: true,
    async run(context) {
      requireSubscriptionIds(context);
      const { connection, token, waitForCallbacks, received } = context;
      await connection.enable({ subscriptionId: "a", callbackToken: token("a") });
      await connection.enable({ subscriptionId: "b", callbackToken: token("b") });
      await connection.fire();
      await waitForCallbacks(2);
      assert(
        tokensOf(received()).sort().join() === [token("a"), token("b")].sort().join(),
        "each of two subscriptions must get the event once, with its own token",
      );
      await connection.disable({ subscriptionId: "a" });
      await connection.fire();
      await waitForCallbacks(3);
      assert(tokensOf(received())[2] === token("b"), "the disabled subscription got the event");
    },
  },
  {
    name: "keeps the subscriptions of other types when one type is disabled",
    needsFire: true,
    async run({ connection, trigger, triggers, acceptsSubscriptionIds, waitForCallbacks }) {
      const { type } = findOtherTrigger(trigger, triggers);
      const other = {
        type,
        params: {},
        ...(acceptsSubscriptionIds ? { subscriptionId: "other" } : {}),
      };
      await connection.enable();
      await connection.enable(other);
      await connection.disable(other);
      await connection.fire();
      await waitForCallbacks(1);
    },
  },
  {
    name: "sends no events while a trigger is disabled, and resumes when it is enabled",
    needsFire: true,
    async run({ connection, token, waitForCallbacks, received, expectNoCallback }) {
      await connection.enable();
      await connection.disable();
      await connection.fire();
      await expectNoCallback("an event was sent while the trigger was disabled");
      await connection.enable({ callbackToken: token("resumed") });
      await connection.fire();
      await waitForCallbacks(1);
      assert(tokensOf(received())[0] === token("resumed"), "the former token was used");
    },
  },
  {
    name: "keeps URL and token if TRIGGER_CONFIGURE omits them",
    needsFire: true,
    async run({ connection, waitForCallbacks }) {
      await connection.enable();
      await connection.enable({ callbackUrl: undefined, callbackToken: undefined });
      await connection.fire();
      await waitForCallbacks(1);
    },
  },
  {
    name: "uses the new token after a rotation",
    needsFire: true,
    async run({ connection, token, waitForCallbacks, received }) {
      await connection.enable();
      await connection.enable({ callbackToken: token("rotated") });
      await connection.fire();
      await waitForCallbacks(1);
      assert(tokensOf(received())[0] === token("rotated"), "the former token was used");
    },
  },
  {
    name: "repeats a failed callback with the same id",
    needsFire: true,
    async run({ connection, respondWith, waitForCallbacks, received }) {
      respondWith(() => (received().length < 2 ? 503 : 202));
      await connection.enable();
      await connection.fire();
      const [first, second] = await waitForCallbacks(2);
      assert(first?.body?.id === second?.body?.id, "the second attempt has another id");
    },
  },
  {
    name: "keeps an event after 401 until a valid token arrives",
    needsFire: true,
    async run({ connection, token, respondWith, waitForCallbacks }) {
      respondWith((callback) => (callback.token === token("valid") ? 202 : 401));
      await connection.enable();
      const waitForFire = connection.startFire();
      await waitForCallbacks(1);
      await connection.enable({ callbackToken: token("valid") });
      await waitForCallbacks(1, token("valid")).catch(() => {
        throw new Error("the event was not sent with the new token");
      });
      await waitForFire();
    },
  },
  {
    name: "sends no more events after the receiver has returned 410",
    needsFire: true,
    async run({ connection, respondWith, waitForCallbacks, expectNoCallback }) {
      respondWith(() => 410);
      await connection.enable();
      await connection.fire();
      await waitForCallbacks(1);
      await connection.fire();
      await expectNoCallback("an event was sent after the receiver had returned 410");
    },
  },
  {
    name: "sends no events after the last trigger is disabled",
    needsFire: true,
    async run({ connection, waitForCallbacks, expectNoCallback }) {
      await connection.enable();
      await connection.fire();
      await waitForCallbacks(1);
      await connection.disable();
      await connection.fire();
      await expectNoCallback("an event was sent after the last trigger was disabled");
    },
  },
];
