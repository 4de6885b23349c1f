import { LOG_ACCOUNT } from '@runledger/event-log/connect/log-account';
import { inLogAccount, hasStreamedResponse, PREFIX_MAPPINGS } from './api-subjects.ts';
import { OPERATOR, type BrokerUser } from './broker-user.ts';
import { subjectsOverlap } from './subject-overlap.ts';
import { inboxOf } from '@runledger/event-log/connect/user-key';

export interface UserWithKey {
  readonly user: BrokerUser;
  readonly publicKey: string;
}

/**
 * The part of nats-server's configuration that says who may do what, for a whole cell. Every user has an account, and
 * imports from the log's what it may do there: in one account the broker itself would store, at any subject that a client
 * names as its reply, whatever that client asked it for.
 * @throws TypeError when there is not exactly one operator, or two users have one name or one key
 */
export const brokerConfiguration = (known: readonly UserWithKey[]): string => {
  const users = known.toSorted((a, b) => (a.user.name < b.user.name ? -1 : 1));
  refuseDoubles(users);
  const [operator, ...more] = users.filter(({ user }) => user.name === OPERATOR);
  if (!operator || more.length > 0) {
    throw new TypeError('A broker has one operator: nobody else may make its streams and buckets.');
  }
  const others = users.filter((one) => one !== operator);
  const accounts = [logAccount(operator, others), ...others.map((one) => userAccount(one, others))];
  return `accounts {\n${accounts.map(indented).join('\n')}\n}\n`;
};

const refuseDoubles = (users: readonly UserWithKey[]): void => {
  for (const [what, values] of [
    ['name', users.map(({ user }) => user.name)],
    ['public key', users.map(({ publicKey }) => publicKey)],
  ] as const) {
    const double = values.find((value, at) => values.indexOf(value) !== at);
    if (double !== undefined)
      throw new TypeError(`Two users have the ${what} ${double}: each needs its own.`);
  }
};

const logAccount = (operator: UserWithKey, others: readonly UserWithKey[]): string => {
  const users = [userEntry(operator)];
  const mappings = PREFIX_MAPPINGS.map(([from, to]) => `${quoted(from)}: ${quoted(to)}`);
  const exports = [
    ...grouped(others, usedOfLog).map(([subject, names]) => serviceExport(subject, names)),
    ...grouped(others, heardOfLog).map(([subject, names]) => streamExport(subject, names)),
  ];
  const imports = others.flatMap(({ user }) =>
    answered(user).map((subject) => serviceImport(user.name, subject)),
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
      .filter((subject) => !isQuestion(subject))
      .map((subject) => serviceImport(LOG_ACCOUNT, inLogAccount(subject), subject)),
    ...asked(user).flatMap((subject) => {
      const answering = all.find((one) => answered(one.user).includes(subject));
      return answering ? [serviceImport(answering.user.name, subject)] : [];
    }),
    ...heardOfLog(known).map((subject) => streamImport(LOG_ACCOUNT, subject)),
    ...all.flatMap((one) => heardOf(one, user).map((subject) => streamImport(one.user.name, subject))),
  ];
  const exports = [
    ...answered(user).map((subject) =>
      serviceExport(subject, [
        LOG_ACCOUNT,
        ...all.filter((one) => asked(one.user).includes(subject)).map((one) => one.user.name),
      ]),
    ),
    ...grouped(all, (one) => heardOf(known, one.user)).map(([subject, names]) =>
      streamExport(subject, names),
    ),
  ];
  return account(user.name, [
    block('users', '[]', [userEntry(known)]),
    block('exports', '[]', exports),
    block('imports', '[]', imports),
  ]);
};

const isQuestion = (subject: string): boolean => subject.startsWith('request.');
const asked = ({ permissions }: BrokerUser): readonly string[] =>
  permissions.publish.allow.filter(isQuestion);
const answered = ({ permissions }: BrokerUser): readonly string[] =>
  permissions.subscribe.allow.filter(isQuestion);

const usedOfLog = ({ user }: UserWithKey): readonly string[] =>
  user.permissions.publish.allow.filter((subject) => !isQuestion(subject)).map(inLogAccount);

/** A consumer that pushes does so within the log's account, to the inbox that its reader named. */
const heardOfLog = ({ user, publicKey }: UserWithKey): readonly string[] => [
  ...heard(user),
  ...(user.permissions.publish.allow.some((subject) => subject.startsWith('$JS.FC.'))
    ? [`${inboxOf(publicKey)}.>`]
    : []),
];

/**
 * What one listens for of what another writes. The broker takes it where it is written: what came into the log's account by
 * an import goes on to streams, and to no other account.
 */
const heardOf = (writer: UserWithKey, listener: BrokerUser): readonly string[] =>
  writer.user === listener
    ? []
    : writer.user.permissions.publish.allow.filter((written) =>
        heard(listener).some((subject) => subjectsOverlap(written, subject)),
      );

const heard = ({ permissions }: BrokerUser): readonly string[] =>
  permissions.subscribe.allow.filter((subject) => !isQuestion(subject));

/** Each subject with the names of those who have it, both in order. */
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

/** How long an answer in parts may pause: a pull that waits tells that it lives every two seconds. */
const PARTS_PAUSE = '30s';

const serviceExport = (subject: string, names: readonly string[]): string => {
  const parts = hasStreamedResponse(subject)
    ? `, response_type: stream, threshold: ${quoted(PARTS_PAUSE)}`
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

/** Names and subjects hold no quotes, line ends or backslashes; what does is refused rather than escaped in a way of ours. */
const quoted = (value: string): string => {
  if (!/^[\x20-\x7E]+$/.test(value) || /["\\]/.test(value)) {
    throw new TypeError(`${JSON.stringify(value)} cannot stand in the configuration of a broker.`);
  }
  return `"${value}"`;
};
