import { newUuid } from '@runledger/contracts/ids';

/** Something that a user of the broker may not do. */
export interface Forbidden {
  readonly action: 'publish' | 'subscribe';
  readonly subject: string;
}

const API = '$JS.RUNLEDGER.API';

const publish = (...subjects: readonly string[]): Forbidden[] =>
  subjects.map((subject) => ({ action: 'publish', subject }));
const subscribe = (...subjects: readonly string[]): Forbidden[] =>
  subjects.map((subject) => ({ action: 'subscribe', subject }));
const read = (...streams: readonly string[]): Forbidden[] =>
  publish(...streams.map((stream) => `${API}.STREAM.MSG.GET.${stream}`));

/** Only the operator may. */
const toEverybody = (): Forbidden[] => [
  ...['CREATE', 'UPDATE', 'DELETE', 'PURGE', 'MSG.DELETE'].flatMap((request) =>
    publish(`$JS.API.STREAM.${request}.RUNS`, `${API}.STREAM.${request}.RUNS`),
  ),
  ...publish('$SYS.REQ.SERVER.PING', `${API}.ACCOUNT.PURGE.RUNLEDGER`, '$KV.RATES.a-key'),
  ...subscribe('>', '$KV.>', '$JS.>', '_INBOX.>'),
];

/** Subjects of new runs, of the executors of other names, and of other services. */
const life = (...facts: readonly string[]): Forbidden[] =>
  publish(...facts.map((fact) => `runs.${newUuid()}.${newUuid()}.life.${fact}`));
const webhookFact = (): Forbidden[] => publish(`runs.${newUuid()}.${newUuid()}.webhook.delivered.notifier.1`);
const heartbeatOf = (name: string): Forbidden[] => publish(`$KV.EXECUTORS.${name}.000000000001`);
const factOf = (name: string, fact: string): Forbidden[] => life(`${fact}.executor.1.${name}.000000000001`);

type OwnForbidden = (first: string, second: string) => Forbidden[];

const toGateway: OwnForbidden = (name) => [
  ...life('assigned.scheduler.1.none'),
  ...factOf(name, 'ended'),
  ...webhookFact(),
  ...heartbeatOf(name),
  ...publish('$KV.LEASES.scheduler', '$O.SNAPSHOTS.M.one'),
  ...read('OBJ_SNAPSHOTS', 'KV_EXECUTORS'),
  ...subscribe('runs.>'),
];

const toScheduler: OwnForbidden = (name) => [
  ...life('queued.gateway.0.none'),
  ...factOf(name, 'started'),
  ...webhookFact(),
  ...heartbeatOf(name),
  ...publish('$O.OUTPUTS.M.one', '$KV.CATALOGUE.one', '$KV.KEYS.one'),
  ...read('KV_KEYS', 'KV_WEBHOOK_SECRETS', 'KV_CATALOGUE', 'OBJ_OUTPUTS'),
];

const toNotifier: OwnForbidden = (name) => [
  ...life('queued.gateway.0.none', 'ended.gateway.1.none'),
  ...factOf(name, 'started'),
  ...heartbeatOf(name),
  ...publish('$KV.LEASES.scheduler', '$KV.KEYS.one'),
  ...read('KV_KEYS', 'KV_CATALOGUE', 'OBJ_OUTPUTS', 'WORKFLOWS'),
];

const toDebugger: OwnForbidden = (name) => [
  ...life('queued.gateway.0.none', 'ended.gateway.1.none'),
  ...factOf(name, 'ended'),
  ...webhookFact(),
  ...heartbeatOf(name),
  ...read('KV_KEYS', 'KV_WEBHOOK_SECRETS', 'OBJ_OUTPUTS'),
];

const toExecutor: OwnForbidden = (first, second) => [
  ...life('queued.gateway.0.none', 'assigned.scheduler.1.none'),
  ...factOf(first, 'ended'),
  ...webhookFact(),
  ...heartbeatOf(first),
  ...publish(
    `fleet.${second}.000000000001.registered`,
    `activity.${newUuid()}.${newUuid()}.1.${second}.000000000001.progress`,
    `fleet.${first}.all.resume_requested`,
    `${API}.CONSUMER.CREATE.RUNS.executor-${first}.runs.*.*.*.*.*.*.${first}.*`,
    `request.scheduler.consumer.${first}`,
    `${API}.DIRECT.GET.RUNS`,
    `${API}.DIRECT.GET.WORKFLOWS.workflows.*.*`,
  ),
  ...read('RUNS', 'KV_KEYS', 'KV_CATALOGUE', 'WORKFLOWS', 'BLOBS', 'OBJ_OUTPUTS'),
  ...subscribe('runs.>', 'activity.>', 'fleet.>'),
];

const OF_USERS = new Map<string, OwnForbidden>([
  ['gateway', toGateway],
  ['scheduler', toScheduler],
  ['notifier', toNotifier],
  ['debugger', toDebugger],
]);

/** What a user may not do, written by hand: nothing here comes from the contracts. Every other user is an executor. */
export const forbiddenTo = (user: string, executorNames: readonly string[]): Forbidden[] => {
  const [first = '', second = ''] = executorNames.filter((name) => user !== `executor-${name}`);
  return [...toEverybody(), ...(OF_USERS.get(user) ?? toExecutor)(first, second)];
};
