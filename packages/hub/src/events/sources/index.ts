import type { SourceDefinition } from "../admit/source.ts";
import { cloudevents } from "./cloudevents.ts";
import { generic } from "./generic.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { linear } from "./linear.ts";
import { slack } from "./slack.ts";
import { standardWebhooks } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";

/** All senders that the hub supports. `id` is the name in `/webhooks/:source`. */
export const sources: readonly SourceDefinition[] = [
  github,
  standardWebhooks,
  stripe,
  slack,
  gitlab,
  linear,
  cloudevents,
  generic,
];
