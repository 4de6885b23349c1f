/** docs/asyncapi.json: the messages of the log as an AsyncAPI document, for programs in other languages that read it. */
import { ALL_LIFECYCLES, ALL_WEBHOOKS, READ_MARKER } from '@runledger/contracts/events/subjects';
import { ALL_TERM_ANNOUNCEMENTS, TERMS } from '@runledger/contracts/events/leader-terms';
import manifest from '../../package.json' with { type: 'json' };
import { channelsAndOperations, parameters } from './asyncapi-channels.ts';
import { messageSchemas, schemaReference, type Json } from './asyncapi-schemas.ts';
import { AUDIT_MESSAGE } from './audit-records.ts';
import { DELIVERY_RECORDS } from './delivery-records.ts';
import { GOLDEN_EVENTS } from './golden-events.ts';
import {
  ATTEMPT_MESSAGES,
  FLEET_MESSAGES,
  RUN_MESSAGES,
  versionOf,
  WEBHOOK_MESSAGES,
  type MessageDescription,
} from './message-descriptions.ts';

const MESSAGES: readonly MessageDescription[] = [
  ...RUN_MESSAGES,
  ...WEBHOOK_MESSAGES,
  ...FLEET_MESSAGES,
  ...ATTEMPT_MESSAGES,
  ...DELIVERY_RECORDS,
  AUDIT_MESSAGE,
];

const description = `
The log of Runledger, in streams of NATS JetStream. Generated from the code by \`npm run docs\`. This is for programs that read the log;
only the services of Runledger write it.

**Facts** are JSON objects in UTF-8. An event has a \`type\` and a \`version\`. Its \`event_id\` is also the message id (\`Nats-Msg-Id\`).

**Versions.** Each type has a version of its own. Within it optional members may be added, and none is removed or changes its meaning.
A reader ignores members that it does not know, and types that it does not know. A reader that meets a newer version of a type that it
knows must stop, and say so: if it skipped the event, it would derive a wrong state.

**Order.** A run is the history of its facts in the order of the log: the sequence of the message in its stream. \`time\` is by the
writer's clock, for people; the times of a run are the broker's timestamps.

**Fences.** A fact is stored on the condition that nothing was stored under a filter since its writer read it. The header
\`Nats-Expected-Last-Subject-Sequence-Subject\` is the filter, such as \`runs.<org_id>.<run_id>.life.>\`, and
\`Nats-Expected-Last-Subject-Sequence\` is the last sequence that the writer read under it, 0 for none. Facts that were stored
together also have \`Nats-Batch-Id\` and \`Nats-Batch-Sequence\`, which readers ignore. The broker stores messages with other fences, or
none, as well: a reader that must not be deceived takes a fact only when its fence is the filter of its chain and names the message before it.

**Filters.** \`${ALL_LIFECYCLES}\` and \`${ALL_WEBHOOKS}\` have all facts about runs. The streams also hold messages that are no facts:
RUNS those under \`${READ_MARKER}\` and \`${ALL_TERM_ANNOUNCEMENTS}\`, FLEET those under \`${TERMS}\`. A reader of facts leaves them out.

**Access.** Each user has an nkey, and may use only the subjects that docs/broker.md lists. The API of JetStream is at
\`$JS.RUNLEDGER.API\`.
`.trim();

const server = {
  host: '{host}:{port}',
  protocol: 'nats',
  description: 'A broker of the installation.',
  variables: {
    host: { description: 'The name or address of the broker.' },
    port: { description: 'Its port for clients.', default: '4222' },
  },
};

const messageOf = (message: MessageDescription): Json => {
  const { name } = message;
  const version = versionOf(message);
  const examples = GOLDEN_EVENTS.filter(({ event }) => event.type === name && event.version === version);
  return {
    name,
    title: name,
    ...(version !== undefined && { summary: `Version ${version}.` }),
    payload: schemaReference(name),
    ...(examples.length > 0 && {
      examples: examples.map((golden) => ({ name: golden.name, payload: golden.event })),
    }),
  };
};

export const asyncApiDocument = (): Json => ({
  asyncapi: '3.0.0',
  info: {
    title: 'Runledger log',
    version: manifest.version,
    description,
    license: { name: manifest.license, url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  },
  defaultContentType: 'application/json',
  servers: { broker: server },
  ...channelsAndOperations(MESSAGES),
  components: {
    parameters: parameters(MESSAGES),
    messages: Object.fromEntries(MESSAGES.map((message) => [message.name, messageOf(message)])),
    schemas: messageSchemas(MESSAGES),
  },
});

export const asyncApiPage = (): string => `${JSON.stringify(asyncApiDocument(), null, 2)}\n`;
