/** docs/broker.md from the contract.ts of every service: what each may do at the broker, in words and as subjects. */
import type { ServiceContract } from '@runledger/contracts/access/service-contract';
import {
  debuggerUser,
  executorUser,
  operatorUser,
  serviceUser,
  type BrokerUser,
} from '@runledger/broker-access/broker-user';
import { CONTRACTS } from './events-page.ts';

/** Stands for the name of any executor. */
const NAME = 'NAME';

const among = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

const sentence = (verb: string, things: readonly string[]): string[] =>
  things.length === 0 ? [] : [`- ${verb} ${among(things)}.`];

const inWords = (contract: ServiceContract): string[] => {
  const {
    writes,
    reads,
    follows,
    buckets,
    objects,
    leases,
    deadLetters: parks,
    requests: asks,
    responds: answers,
  } = contract;
  const isExecutor = contract.role === 'executor';
  const own = isExecutor ? ' (its own name only)' : '';
  const used = (use: string): string[] =>
    Object.entries(buckets).flatMap(([bucket, uses]) =>
      (uses as readonly string[]).includes(use) ? [bucket] : [],
    );
  return [
    ...sentence(`writes the facts${own}`, [...writes.runs, ...writes.webhooks, ...writes.fleet]),
    ...(writes.activity ? [`- tells progress and log lines${own}.`] : []),
    ...(contract.heartbeats ? [`- heartbeats in the bucket EXECUTORS${own}.`] : []),
    ...(isExecutor
      ? [
          '- is handed the facts of runs that are addressed to it, by one consumer of its own, and looks at no stream.',
        ]
      : sentence('follows', follows)),
    ...(reads.activity && !isExecutor ? ['- reads what was reported of progress last.'] : []),
    ...(contract.subscribesToProgress ? ['- hears progress as it is reported.'] : []),
    ...sentence('reads the buckets', used('read')),
    ...sentence('writes the buckets', used('write')),
    ...sentence('takes records out of', used('erase')),
    ...sentence('reads, writes and removes objects of', objects),
    ...sentence(leases.length > 1 ? 'holds the leases' : 'holds the lease', leases),
    ...(contract.partitions ? ['- divides its shares, in the bucket LEASES.'] : []),
    ...(contract.timers ? ['- keeps and drops timers.'] : []),
    ...(contract.deliveryAttempts === 'nothing'
      ? []
      : [`- ${contract.deliveryAttempts} the tries of deliveries.`]),
    ...sentence(
      'parks messages',
      parks.map(({ stream, as }) => `of ${stream} as \`${as}\``),
    ),
    ...sentence('asks', asks.map(code)),
    ...sentence(
      'answers',
      answers.map((what) => code(`request.${contract.role}.${isExecutor ? `${NAME}.` : ''}${what}`)),
    ),
  ];
};

const code = (text: string): string => `\`${text}\``;

const subjects = (title: string, allowed: readonly string[]): string[] =>
  allowed.length === 0 ? [] : [title, '', '```', ...allowed, '```', ''];

const section = (user: BrokerUser, words: readonly string[]): string =>
  [
    `## ${user.name}`,
    '',
    ...words,
    '',
    ...subjects('May publish to:', user.permissions.publish.allow),
    ...subjects('May listen to, beside its own inbox:', user.permissions.subscribe.allow),
  ].join('\n');

const ofContract = (contract: ServiceContract): string =>
  section(
    contract.role === 'executor' ? executorUser(contract, NAME) : serviceUser(contract),
    inWords(contract),
  );

export const brokerPage = (): string =>
  [
    '# Who may do what at the broker',
    '',
    'Made from the `contract.ts` of every service by `npm run docs`; a test holds the two together. `runledger broker-config` writes the',
    'configuration of nats-server that says the same.',
    '',
    'Each user has an nkey, an account of its own, and imports from the account `RUNLEDGER`, which holds the log, only what is named',
    'here: so an answer of the broker, too, goes no further than the user itself could write ([why](adr/0025-each-user-has-an-account.md)).',
    "JetStream is asked under `$JS.RUNLEDGER.API`, with `nats --js-domain RUNLEDGER` for people. A user's inbox begins with",
    '`_INBOX_<its public key>`. What is not named is refused: the service logs the subject, and says what to do.',
    '',
    ...CONTRACTS.map(ofContract),
    section(debuggerUser(), [
      '- looks at streams, single messages and consumers, and hears facts and progress as they are stored.',
      '- changes nothing, and sees no keys, no secrets, no rates and no output files.',
    ]),
    section(operatorUser(), [
      '- may do everything: it is in the account of the log. Provisioning and the commands for operators need it, and no service has its key.',
    ]).trimEnd(),
    '',
  ].join('\n');
