/** The channels and operations of docs/asyncapi.json: a channel for each kind of subject, an operation for each service that uses it. */
import type { Json } from './asyncapi-schemas.ts';
import type { MessageDescription } from './message-descriptions.ts';

/** A part of a subject that differs between messages: its name, and the word that may stand instead of it. */
const PART = /<(\w+)(?: or (\w+))?>/g;

const PARTS: Readonly<Record<string, string>> = {
  org_id: 'The id of an organisation: a UUID in lower case.',
  run_id: 'The id of a run: a UUID in lower case.',
  attempt: 'The number of an attempt, from 1; 0 before the first.',
  executor_id:
    'The id of an executor: its name, a dot and its boot id. These are two tokens of the subject, so a filter has `*.*` or ends with `>`.',
  executor_name: 'The name of an executor, which stays the same over restarts.',
  round: 'The number of a round of deliveries: 1 for the first, and one more for each requested redelivery.',
  try: 'The number of a delivery attempt in its round, from 1.',
  slot: 'Where a part of a log is stored: the first ones have a place of their own, and the others share the rest in turn.',
  ring: 'A kind of audit records, such as `work`: docs/events.md lists them.',
  partition: 'The number of a partition.',
  origin: 'Scheme, host and port of a receiver, with `%XX` for characters that a subject cannot hold.',
};

/** Of each part of a subject the name of the parameter, and the one of its description among the components. */
const partsOf = (
  subject: string,
): { readonly name: string; readonly component: string; readonly described: Json }[] =>
  [...subject.matchAll(PART)].map(([, name = '', instead]) => {
    const description = PARTS[name];
    if (description === undefined) throw new TypeError(`Say in PARTS what <${name}> of a subject is.`);
    return instead === undefined
      ? { name, component: name, described: { description } }
      : {
          name,
          component: `${name}_or_${instead}`,
          described: { description: `${description} \`${instead}\` without one.` },
        };
  });

/** From the words that all subjects of the channel have. */
const channelName = (subject: string): string =>
  subject
    .split('.')
    .filter((token) => /^\w+$/.test(token))
    .join('_');

const references = (messages: readonly MessageDescription[], of: (name: string) => string): Json[] =>
  messages.map(({ name }) => ({ $ref: of(name) }));

const channel = ([first, ...others]: readonly MessageDescription[]): Json => {
  if (!first) return {};
  const { stream, subject, about } = first;
  return {
    address: subject.replaceAll(PART, '{$1}'),
    description: `In the stream ${stream}: ${about}.`,
    parameters: Object.fromEntries(
      partsOf(subject).map(({ name, component }) => [name, { $ref: `#/components/parameters/${component}` }]),
    ),
    messages: Object.fromEntries(
      [first, ...others].map(({ name }) => [name, { $ref: `#/components/messages/${name}` }]),
    ),
  };
};

const operations = (name: string, messages: readonly MessageDescription[], use: 'send' | 'receive'): Json => {
  const usersOf = ({ writers, readers }: MessageDescription): readonly string[] =>
    use === 'send' ? writers : readers;
  const users = [...new Set(messages.flatMap(usersOf))];
  return Object.fromEntries(
    users.map((service) => {
      const used = messages.filter((message) => usersOf(message).includes(service));
      return [
        `${service}_${use}_${name}`,
        {
          action: use,
          channel: { $ref: `#/channels/${name}` },
          summary: `${service} ${use === 'send' ? 'writes' : 'reads'} ${used.map(({ name: type }) => type).join(', ')}.`,
          tags: [{ name: service }],
          messages: references(used, (type) => `#/channels/${name}/messages/${type}`),
        },
      ];
    }),
  );
};

export const parameters = (described: readonly MessageDescription[]): Json =>
  Object.fromEntries(
    described
      .flatMap(({ subject }) => partsOf(subject))
      .map(({ component, described: parameter }) => [component, parameter]),
  );

export const channelsAndOperations = (
  described: readonly MessageDescription[],
): { readonly channels: Json; readonly operations: Json } => {
  const channels = [...Map.groupBy(described, ({ subject }) => subject)].map(
    ([subject, messages]) => [channelName(subject), messages] as const,
  );
  return {
    channels: Object.fromEntries(channels.map(([name, messages]) => [name, channel(messages)])),
    operations: Object.assign(
      {},
      ...channels.flatMap(([name, messages]) => [
        operations(name, messages, 'send'),
        operations(name, messages, 'receive'),
      ]),
    ) as Json,
  };
};
