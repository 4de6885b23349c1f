import { setTimeout as pause } from 'node:timers/promises';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { newUuid } from '@runledger/contracts/ids';
import { now } from '../cluster/clock.ts';
import type { Cluster } from '../cluster/cluster.ts';

/** A user tried what it may not do. */
export interface Trespass extends Forbidden {
  readonly user: string;
  readonly at: number;
  /** The broker said no. */
  readonly refused: boolean;
}

/** The broker's log names its connections so. */
const TRESPASSER = 'trespasser';
/** No user may publish here. The broker handles messages in order: its refusal follows all others. */
const LAST = 'the.last.one';
/** No JSON, so that whatever accepts it changes nothing. */
const PAYLOAD = '!';
const WITHIN_MS = 10_000;
const POLL_EVERY_MS = 50;

/** Every user but the operator tries what it may not do. What the broker did not answer, because it was away, is left out. */
export const trespass = async ({
  brokerUsers: { names, url, seedOf },
  executorNames,
}: Pick<Cluster, 'brokerUsers' | 'executorNames'>): Promise<Trespass[]> => {
  const all: Trespass[] = [];
  for (const user of names) {
    const signal = AbortSignal.timeout(WITHIN_MS);
    try {
      const settings = { url, name: TRESPASSER, seed: seedOf(user) };
      await using log = await openEventLog(settings, silentLogger, signal);
      const forbidden = forbiddenTo(user, executorNames);
      const at = now();
      const refused = await refusedTo(log, forbidden, signal);
      if (refused)
        all.push(...forbidden.map((one) => ({ ...one, user, at, refused: refused.has(one.subject) })));
    } catch {
      // The broker is away.
    }
  }
  return all;
};

/** The subjects that the broker refused; undefined if it was away meanwhile. */
const refusedTo = async (
  { nc }: EventLog,
  forbidden: readonly Forbidden[],
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> => {
  const refused = new Set<string>();
  const broker = { wasAway: false };
  const listen = async (): Promise<void> => {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect') broker.wasAway = true;
      const error = status.type === 'error' ? status.error : undefined;
      if (error?.name === 'PermissionViolationError' && 'subject' in error)
        refused.add(String(error.subject));
    }
  };
  void listen();
  for (const { action, subject } of forbidden) {
    if (action === 'publish') nc.publish(subject, PAYLOAD);
    else nc.subscribe(subject, { callback: () => undefined });
  }
  nc.publish(LAST);
  while (!refused.has(LAST) && !broker.wasAway && !signal.aborted) await pause(POLL_EVERY_MS);
  return refused.has(LAST) && !broker.wasAway ? refused : undefined;
};

/** Something that a user of the broker may not do. */
interface Forbidden {
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
const forbiddenTo = (user: string, executorNames: readonly string[]): Forbidden[] => {
  const [first = '', second = ''] = executorNames.filter((name) => user !== `executor-${name}`);
  return [...toEverybody(), ...(OF_USERS.get(user) ?? toExecutor)(first, second)];
};

/** What the brokers refused to anybody but trespassers, as in their log files. */
export const brokerRefusals = async (folder: string): Promise<string[]> => {
  const files = (await readdir(folder)).filter((name) => /^broker.*\.log$/.test(name));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => isRefusal(line) && !line.includes(TRESPASSER));
};

const isRefusal = (line: string): boolean =>
  /(?:Publish|Subscription|Permissions?) Violation/i.test(line) && !line.includes(LATE_RESPONSE);

/** Its request came over a connection that was lost before the response: the right to it was of that connection. */
const LATE_RESPONSE = 'Publish Violation - Subject "_R_.';
