import { LOG_ACCOUNT, inboxOf } from '@runledger/event-log/connect/broker-config';
import { inLogAccount, hasStreamedResponse, PREFIX_MAPPINGS } from './api-subjects.ts';
import { OPERATOR, SYSTEM, type BrokerUser } from './broker-user.ts';

export interface UserWithKey {
  readonly user: BrokerUser;
  readonly publicKey: string;
}

/**
 * The part of nats-server's configuration that says who may do what. Every user has an account of its own and imports from
 * the account of the log the subjects that it may use there. In a shared account a client could choose a stream's subject as its
 * reply subject, and the broker would store its response there.
 * @throws TypeError when there is not exactly one operator, or two users have one name or one key
 */
export const brokerConfiguration = (known: readonly UserWithKey[]): string => {
  const users = known.toSorted((a, b) => (a.user.name < b.user.name ? -1 : 1));
  refuseDuplicates(users);
  const [operator, ...more] = users.filter(({ user }) => user.name === OPERATOR);
  if (!operator || more.length > 0) {
    throw new TypeError(
      'A broker needs exactly one operator, the only user that creates its streams and buckets.',
    );
  }
  const ofBrokers = users.filter(({ user }) => user.name === SYSTEM);
  const others = users.filter((one) => one !== operator && !ofBrokers.includes(one));
  const accounts = [
    logAccount(operator, others),
    ...others.map((one) => userAccount(one, others)),
    ...ofBrokers.map((one) => account(SYSTEM_ACCOUNT, [block('users', '[]', [userEntry(one)])])),
  ];
  return `accounts {\n${accounts.map(indented).join('\n')}\n}\n`;
};

/** nats-server's own name for it. */
const SYSTEM_ACCOUNT = '$SYS';

const refuseDuplicates = (users: readonly UserWithKey[]): void => {
  for (const [what, values] of [
    ['name', users.map(({ user }) => user.name)],
    ['public key', users.map(({ publicKey }) => publicKey)],
  ] as const) {
    const duplicate = values.find((value, at) => values.indexOf(value) !== at);
    if (duplicate !== undefined)
      throw new TypeError(`Two users have the ${what} ${duplicate}: each needs its own.`);
  }
};

const logAccount = (operator: UserWithKey, others: readonly UserWithKey[]): string => {
  const users = [userEntry(operator)];
  const mappings = PREFIX_MAPPINGS.map(([from, to]) => `${quoted(from)}: ${quoted(to)}`);
  const exports = [
    ...grouped(others, usedInLog).map(([subject, names]) => serviceExport(subject, names)),
    ...grouped(others, ({ user }) => subscriptions(user)).map(([subject, names]) =>
      streamExport(subject, names),
    ),
  ];
  const imports = others.flatMap(({ user }) =>
    respondsTo(user).map((subject) => serviceImport(user.name, subject)),
  );
  return account(LOG_ACCOUNT, [
    'jetstream: enabled',
    block('users', '[]', users),
    block('mappings', '{}', mappings),
    block('exports', '[]', exports),
    block('imports', '[]', imports),
  ]);
};

const userAccount = (known: UserWithKey, all: readonly UserWithKey[]): string => {
  const { user } = known;
  const imports = [
    ...user.permissions.publish.allow
      .filter((subject) => !isRequest(subject))
      .map((subject) => serviceImport(LOG_ACCOUNT, inLogAccount(subject), subject)),
    ...all.flatMap((one) =>
      requestsBetween(user, one.user).map((subject) => serviceImport(one.user.name, subject)),
    ),
    ...subscriptions(user).map((subject) => streamImport(LOG_ACCOUNT, subject)),
    ...all.flatMap((one) => subscribedOf(one, user).map((subject) => streamImport(one.user.name, subject))),
  ];
  const exports = [
    ...respondsTo(user).map((subject) =>
      serviceExport(subject, [
        LOG_ACCOUNT,
        ...all.filter((one) => requestsBetween(one.user, user).includes(subject)).map((one) => one.user.name),
      ]),
    ),
    ...grouped(all, (one) => subscribedOf(known, one.user)).map(([subject, names]) =>
      streamExport(subject, names),
    ),
  ];
  return account(user.name, [
    block('users', '[]', [userEntry(known)]),
    block('exports', '[]', exports),
    block('imports', '[]', imports),
  ]);
};

const isRequest = (subject: string): boolean => subject.startsWith('request.');
const requests = ({ permissions }: BrokerUser): readonly string[] =>
  permissions.publish.allow.filter(isRequest);
const respondsTo = ({ permissions }: BrokerUser): readonly string[] =>
  permissions.subscribe.allow.filter(isRequest);

/** The subjects on which one user responds to another. Requests between processes of one user stay in its account. */
const requestsBetween = (requester: BrokerUser, responder: BrokerUser): readonly string[] =>
  requester.name === responder.name
    ? []
    : respondsTo(responder).filter((subject) =>
        requests(requester).some((requested) => subjectsOverlap(requested, subject)),
      );

const usedInLog = ({ user }: UserWithKey): readonly string[] =>
  user.permissions.publish.allow.filter((subject) => !isRequest(subject)).map(inLogAccount);

/**
 * The subjects of one user to which another subscribes. They are imported from the account of the writer: what the account of
 * the log imports goes to its streams, and to no other account.
 */
const subscribedOf = (writer: UserWithKey, listener: BrokerUser): readonly string[] =>
  writer.user === listener
    ? []
    : writer.user.permissions.publish.allow.filter((written) =>
        subscriptions(listener).some((subject) => subjectsOverlap(written, subject)),
      );

const subscriptions = ({ permissions }: BrokerUser): readonly string[] =>
  permissions.subscribe.allow.filter((subject) => !isRequest(subject));

/** Each subject with the names of its users, both in order. */
const grouped = (
  users: readonly UserWithKey[],
  subjectsOf: (one: UserWithKey) => readonly string[],
): [string, string[]][] => {
  const names = new Map<string, string[]>();
  for (const one of users) {
    for (const subject of subjectsOf(one)) {
      names.set(subject, [...(names.get(subject) ?? []), one.user.name]);
    }
  }
  return [...names].toSorted(([a], [b]) => (a < b ? -1 : 1));
};

const userEntry = ({ user: { permissions }, publicKey }: UserWithKey): string => {
  const subscribe = [`${inboxOf(publicKey)}.>`, ...permissions.subscribe.allow];
  const parts = [
    `publish: {allow: ${list(permissions.publish.allow)}}`,
    `subscribe: {allow: ${list(subscribe)}}`,
    ...(permissions.responses ? ['allow_responses: true'] : []),
  ];
  return `{\n${[`nkey: ${quoted(publicKey)}`, `permissions: {\n${parts.map(indented).join('\n')}\n}`].map(indented).join('\n')}\n}`;
};

/** How long a streamed response may pause. A waiting pull gets a heartbeat every two seconds. */
const MAX_RESPONSE_PAUSE = '30s';

const serviceExport = (subject: string, names: readonly string[]): string => {
  const parts = hasStreamedResponse(subject)
    ? `, response_type: stream, threshold: ${quoted(MAX_RESPONSE_PAUSE)}`
    : '';
  return `{service: ${quoted(subject)}${parts}, accounts: ${list(names)}}`;
};
const streamExport = (subject: string, names: readonly string[]): string =>
  `{stream: ${quoted(subject)}, accounts: ${list(names)}}`;
const serviceImport = (from: string, subject: string, as = subject): string =>
  `{service: {account: ${quoted(from)}, subject: ${quoted(subject)}}${as === subject ? '' : `, to: ${quoted(as)}`}}`;
const streamImport = (from: string, subject: string): string =>
  `{stream: {account: ${quoted(from)}, subject: ${quoted(subject)}}}`;

const account = (name: string, parts: readonly string[]): string =>
  `${quoted(name)} {\n${parts
    .filter((part) => part !== '')
    .map(indented)
    .join('\n')}\n}`;
const block = (name: string, brackets: '[]' | '{}', entries: readonly string[]): string =>
  entries.length === 0
    ? ''
    : `${name}: ${brackets.charAt(0)}\n${entries.map(indented).join('\n')}\n${brackets.charAt(1)}`;
const list = (values: readonly string[]): string => `[${values.map(quoted).join(', ')}]`;
const indented = (lines: string): string => lines.replaceAll(/^/gm, '  ');

/** Whether two subjects with wildcards match a common subject. */
export const subjectsOverlap = (one: string, other: string): boolean => {
  const [left, right] = [one.split('.'), other.split('.')];
  for (let at = 0; ; at += 1) {
    const [a, b] = [left[at], right[at]];
    if (a === undefined || b === undefined) return a === b;
    if (a === '>' || b === '>') return true;
    if (a !== b && a !== '*' && b !== '*') return false;
  }
};

/** A text in the configuration of nats-server. Names, subjects and paths hold no quotes, line ends or backslashes: others are refused. @throws TypeError */
export const quoted = (value: string): string => {
  if (!/^[\x20-\x7E]+$/.test(value) || /["\\]/.test(value)) {
    throw new TypeError(`${JSON.stringify(value)} cannot be written into the configuration of a broker.`);
  }
  return `"${value}"`;
};
