/** docs/broker.md from the contract.ts of every service: the permissions of each at the broker, in words and as subjects. */
import type { ServiceContract } from '@runledger/contracts/service-contract';
import {
  debuggerUser,
  executorUser,
  operatorUser,
  serviceUser,
  systemUser,
  type BrokerUser,
} from '@runledger/broker-access/broker-user';
import { CONTRACTS } from './message-descriptions.ts';

/** Stands for the name of any executor. */
const NAME = 'NAME';

const among = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

const sentence = (verb: string, things: readonly string[]): string[] =>
  things.length === 0 ? [] : [`- ${verb} ${among(things)}.`];

const inWords = (contract: ServiceContract): string[] => {
  const { writes, reads, follows, buckets, objects, leases, deadLetters, requests, responds } = contract;
  const isExecutor = contract.role === 'executor';
  const own = isExecutor ? ' (its own name only)' : '';
  const used = (use: string): string[] =>
    Object.entries(buckets).flatMap(([bucket, uses]) =>
      (uses as readonly string[]).includes(use) ? [bucket] : [],
    );
  return [
    ...sentence(`writes the facts${own}`, [...writes.runs, ...writes.webhooks, ...writes.fleet]),
    ...(writes.activity ? [`- publishes progress${own}.`] : []),
    ...(contract.heartbeats ? [`- writes heartbeats to the bucket EXECUTORS${own}.`] : []),
    ...(isExecutor
      ? ['- receives the facts of runs that are addressed to it from its own consumer, and reads no stream.']
      : sentence('follows', follows)),
    ...(reads.activity && !isExecutor ? ['- reads the latest progress.'] : []),
    ...(contract.subscribesToProgress ? ['- receives live progress.'] : []),
    ...(contract.gathersLeaders
      ? ['- moves the leaders of the streams whose state it reads to one broker.']
      : []),
    ...(contract.readsAllStates ? ['- reads the state of every stream, for the operator.'] : []),
    ...(contract.logs === 'writes' ? [`- publishes the logs of attempts${own}.`] : []),
    ...(contract.logs === 'reads' ? ['- reads, receives and erases the logs of attempts.'] : []),
    ...sentence('reads the buckets', used('read')),
    ...sentence('writes the buckets', used('write')),
    ...sentence('deletes records of', used('erase')),
    ...sentence('reads, writes and removes objects of', objects),
    ...sentence(leases.length > 1 ? 'holds the leases' : 'holds the lease', leases),
    ...(contract.partitions ? ['- assigns its partitions in the bucket LEASES.'] : []),
    ...(contract.timers ? ['- writes and deletes timers.'] : []),
    ...(contract.deliveryAttempts === 'nothing'
      ? []
      : [`- ${contract.deliveryAttempts} the delivery attempts.`]),
    ...(contract.audit ? ['- stores and reads the audit records, which nobody can change or remove.'] : []),
    ...sentence(
      'stores dead letters',
      deadLetters.map(({ stream, as }) => `of ${stream} as \`${as}\``),
    ),
    ...(contract.showsDeadLetters ? ['- reads and removes the dead letters of all services.'] : []),
    ...sentence('sends the requests', requests.map(code)),
    ...sentence(
      'responds to',
      responds.map((what) => code(`request.${contract.role}.${isExecutor ? `${NAME}.` : ''}${what}`)),
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
    ...subjects('May subscribe to, besides its own inbox:', user.permissions.subscribe.allow),
  ].join('\n');

const ofContract = (contract: ServiceContract): string =>
  section(
    contract.role === 'executor' ? executorUser(contract, NAME) : serviceUser(contract),
    inWords(contract),
  );

export const brokerPage = (): string =>
  [
    '# Permissions at the broker',
    '',
    'Generated from the `contract.ts` of every service by `npm run docs`. A test compares it with the code. `runledger broker-config`',
    'writes the same permissions as configuration of nats-server.',
    '',
    'Each user has an nkey and an account. The account imports only the subjects below from the account `RUNLEDGER`, which holds the',
    'log. So an answer of the broker reaches only subjects that the user could publish to ([why](adr/0025-each-user-has-an-account.md)).',
    "The API of JetStream is at `$JS.RUNLEDGER.API`; people use `nats --js-domain RUNLEDGER`. A user's inbox begins with",
    '`_INBOX_<its public key>`. The broker refuses all other subjects, and the service logs the subject with what to do.',
    '',
    ...CONTRACTS.map(ofContract),
    section(debuggerUser(), [
      '- reads streams, single messages and consumers, and receives facts and progress as they are stored.',
      '- changes nothing, and sees no keys, secrets, rates, output files or audit records.',
    ]),
    section(operatorUser(), [
      '- may do everything, because it is in the account of the log. Provisioning and the operator commands need it. No service has its key.',
    ]),
    section(systemUser(), [
      "- is in nats-server's system account: sees what each broker holds and what is wrong with it, and removes one from the cluster. `runledger cluster remove` needs it, and a standalone, to notice a full disk.",
      '- reads and writes no message of the log. No service has its key.',
    ]).trimEnd(),
    '',
  ].join('\n');
